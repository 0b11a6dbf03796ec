import { join } from "node:path"
import {
  API,
  type Checker,
  type Symbol as NamedSymbol,
  type Project,
  SymbolFlags,
  type Type,
  TypeFlags,
} from "typescript/unstable/sync"

/** What a value is, as far as a check can tell without looking into it. */
export type Kind = "null" | "text" | "number" | "boolean" | "array" | "object" | "function"

/** What a public type allows. */
export interface TypeShape {
  readonly kinds: ReadonlySet<Kind>
  /** The only texts that are allowed; absent: any. */
  readonly words?: readonly string[]
  /** The objects that are allowed: one per member of a union. */
  readonly objects: readonly ObjectShape[]
  /** Of the entries of an array. */
  readonly items?: () => TypeShape
}

export interface ObjectShape {
  /** The name of its type, as declared. */
  readonly name: string
  /** It has methods, or is of a class: a value that something else makes. */
  readonly isInstance: boolean
  readonly members: readonly Member[]
  /** Of the values of a record. */
  readonly values?: () => TypeShape
}

export interface Member {
  readonly name: string
  readonly isOptional: boolean
  readonly type: () => TypeShape
}

export interface PublicFunction {
  /** The subpath that exports it, or the interface that it is a method of. */
  readonly home: string
  readonly name: string
  readonly isClass: boolean
  readonly parameters: readonly Member[]
}

/** Reads, with the compiler, what the functions of a package take. `entries`: the source file of each subpath. */
export class PublicTypes {
  readonly #project: Project
  readonly #checker: Checker
  readonly #entries: ReadonlyMap<string, string>
  readonly #shapes = new Map<number, TypeShape>()

  constructor(root: string, entries: ReadonlyMap<string, string>) {
    const config = join(root, "tsconfig.json")
    const project = new API({ cwd: root }).updateSnapshot({ openProject: config }).getProject(config)
    if (project === undefined) throw new Error(`${config} is not a project.`)
    this.#project = project
    this.#checker = project.checker
    this.#entries = entries
  }

  /** Every exported function and class, once. */
  functions(): readonly PublicFunction[] {
    const seen = new Set<number>()
    return [...this.#entries.keys()].flatMap((entry) =>
      [...this.#exportsOf(entry)].flatMap(([name, symbol]) => {
        if (symbol.valueDeclaration === undefined || seen.has(symbol.id)) return []
        seen.add(symbol.id)
        return this.#functionsIn(entry, name, this.#typeOf(symbol))
      }),
    )
  }

  /** The methods of an exported interface. */
  methods(entry: string, name: string): readonly PublicFunction[] {
    const found = this.#exportsOf(entry).get(name)
    if (found === undefined) throw new Error(`${entry} exports no ${name}.`)
    return this.#checker
      .getPropertiesOfType(this.#checker.getDeclaredTypeOfSymbol(found))
      .filter((property) => !property.name.startsWith("__@"))
      .flatMap((property) => this.#functionsIn(name, property.name, this.#typeOf(property)))
  }

  #exportsOf(entry: string): Map<string, NamedSymbol> {
    const file = this.#project.program.getSourceFile(this.#entries.get(entry) ?? "")
    const module = file && this.#checker.getSymbolAtLocation(file)
    if (module === undefined) throw new Error(`${entry} is not a module.`)
    const named = this.#checker.getExportsOfModule(module)
    const real = (each: NamedSymbol) => (each.flags & SymbolFlags.Alias ? this.#checker.getAliasedSymbol(each) : each)
    return new Map(named.map((each) => [each.name, real(each)]))
  }

  #functionsIn(home: string, name: string, type: Type): PublicFunction[] {
    const called = this.#checker.getSignaturesOfType(type, 0)
    // Of overloads the last one takes the most.
    const signature = called.at(-1) ?? this.#checker.getSignaturesOfType(type, 1).at(-1)
    if (signature === undefined) return []
    const parameters = signature.getParameters().map(
      (parameter): Member => ({
        name: parameter.name,
        isOptional: false,
        type: () => this.#shapeOf(this.#typeOf(parameter)),
      }),
    )
    return [{ home, name, isClass: called.length === 0, parameters }]
  }

  #typeOf(symbol: NamedSymbol): Type {
    const type = this.#checker.getTypeOfSymbol(symbol)
    if (type === undefined) throw new Error(`${symbol.name} has no type.`)
    return type
  }

  #shapeOf(given: Type): TypeShape {
    // Of a type parameter what it extends.
    const type = given.isTypeParameter() ? (this.#checker.getBaseConstraintOfType(given) ?? given) : given
    const known = this.#shapes.get(type.id)
    if (known) return known
    const parts = (type.isUnionType() ? type.getTypes() : [type]).map((each) => this.#partOf(each))
    const words = parts.flatMap((part) => part.words ?? [])
    const items = parts.find((part) => part.items)?.items
    const hasAnyText = parts.some((part) => part.kinds.has("text") && part.words === undefined)
    const shape: TypeShape = {
      kinds: new Set(parts.flatMap(({ kinds }) => [...kinds])),
      objects: parts.flatMap(({ objects }) => objects),
      ...(items && { items }),
      ...(words.length > 0 && !hasAnyText && { words }),
    }
    this.#shapes.set(type.id, shape)
    return shape
  }

  /** One member of a union. */
  #partOf(type: Type): TypeShape {
    const { flags } = type
    if (type.isStringLiteralType()) return { ...only("text"), words: [type.value] }
    if (flags & TypeFlags.StringLike || isNamedText(type)) return only("text")
    if (flags & TypeFlags.NumberLike) return only("number")
    if (flags & TypeFlags.BooleanLike) return only("boolean")
    if (flags & TypeFlags.Null) return only("null")
    if (flags & TypeFlags.Undefined) return only()
    if (!(flags & (TypeFlags.Object | TypeFlags.Intersection | TypeFlags.NonPrimitive))) return only(...allKinds)
    if (this.#checker.isArrayLikeType(type) && type.getSymbol()?.name !== "Uint8Array") {
      const [entry] = type.isTypeReference() ? this.#checker.getTypeArguments(type) : []
      return { ...only("array"), ...(entry && { items: () => this.#shapeOf(entry) }) }
    }
    if (this.#checker.getSignaturesOfType(type, 0).length > 0) return only("function")
    return { ...only("object"), objects: [this.#objectOf(type)] }
  }

  #objectOf(type: Type): ObjectShape {
    const [index] = this.#checker.getIndexInfosOfType(type)
    const members = this.#checker.getPropertiesOfType(type).map(
      (property): Member => ({
        name: property.name,
        isOptional: (property.flags & SymbolFlags.Optional) !== 0,
        type: () => this.#shapeOf(this.#typeOf(property)),
      }),
    )
    const name = (type.getAliasSymbol() ?? type.getSymbol())?.name ?? ""
    const isMethod = ({ isOptional, type }: Member) => !isOptional && [...type().kinds].join() === "function"
    const isOpaque = (type.flags & TypeFlags.NonPrimitive) !== 0 || ofThePlatform.test(name)
    return {
      name,
      get isInstance() {
        return isOpaque || members.some(isMethod)
      },
      members: isOpaque ? [] : members,
      ...(index && { values: () => this.#shapeOf(index.valueType) }),
    }
  }
}

const allKinds: readonly Kind[] = ["null", "text", "number", "boolean", "array", "object", "function"]
const ofThePlatform = /^(Uint8Array|Buffer|AbortSignal|Headers|URL|Date|Promise|Map|Set|RegExp|Request|Response|Agent)$/

const only = (...kinds: readonly Kind[]): TypeShape => ({ kinds: new Set(kinds), objects: [] })

/** `string & {}`, which lets an editor complete the words beside it. */
function isNamedText(type: Type): boolean {
  return type.isIntersectionType() && type.getTypes().some((part) => part.flags & TypeFlags.StringLike)
}
