// Prints the frames that the bridge declares as one JSON object: method → {params, result}, each a shape. A shape is a
// map of field → {optional, shape}, or null for what has no fields of its own (a text, a number, something passed on).
import ts from 'typescript'

const [, , file] = process.argv
const program = ts.createProgram([file], { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true, types: [] })
const checker = program.getTypeChecker()
const source = program.getSourceFile(file)

/** The type without undefined and null. */
const bare = type => checker.getNonNullableType(type)

function shapeOf(given) {
  if (given.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any)) return null
  const type = bare(given)
  const element = checker.getIndexTypeOfType(type, ts.IndexKind.Number)
  if (checker.isArrayType(type) && element) return shapeOf(element)
  const isFields = type.flags & ts.TypeFlags.Object && !type.getCallSignatures().length
  if (!isFields || checker.getIndexTypeOfType(type, ts.IndexKind.String)) return null
  return Object.fromEntries(
    type.getProperties().map(field => [
      field.name,
      {
        optional: Boolean(field.flags & ts.SymbolFlags.Optional),
        shape: shapeOf(checker.getTypeOfSymbolAtLocation(field, source)),
      },
    ]),
  )
}

const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(source))
const frames = checker.getDeclaredTypeOfSymbol(exported.find(one => one.name === 'Frames'))
console.log(
  JSON.stringify(
    Object.fromEntries(
      frames.getProperties().map(method => {
        const frame = checker.getTypeOfSymbolAtLocation(method, source)
        const part = name => shapeOf(checker.getTypeOfSymbolAtLocation(frame.getProperty(name), source))
        return [method.name, { params: part('params'), result: part('result') }]
      }),
    ),
  ),
)
