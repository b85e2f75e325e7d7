"""What each method of the wire does. One module a family, as the frames are cut; each only translates and passes on."""
