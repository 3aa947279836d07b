import { isAlias, isMap, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import { ApiError, messageOf } from '../../lib/errors.ts'
import { isRecord } from '../../lib/json/is-record.ts'
import { withMode } from '../../lib/pipelines/with-mode.ts'
import { PIPELINE_STATES, type PipelineState, pipelineSchema } from '../../lib/schema/pipeline.ts'
import { settingsPatchSchema } from '../../lib/schema/settings.ts'
import { type ValidationIssue, validate } from '../../lib/validate.ts'
import type { SettingsChange } from '../client/client.ts'
import { type Configured, configured } from './configured.ts'
import { DeclarationError } from './declaration-error.ts'

/** A place in the file: `pipelines.yaml:12:5`. */
type Place = string

type Path = readonly (string | number)[]

export interface DeclaredPipeline {
  readonly id: string
  readonly config: Configured
  /** undefined: playing, unless it is on-demand. */
  readonly state: PipelineState | undefined
  /** The place of a field, by its dotted path. */
  readonly place: (field: string) => Place
}

/** `full`: pipelines and settings are kept as declared; `create-only`: what is there already is left as it is. */
const MANAGE = ['full', 'create-only'] as const

export interface Declaration {
  readonly manage: (typeof MANAGE)[number]
  readonly pipelines: readonly DeclaredPipeline[]
  /** Only the given fields. */
  readonly settings: SettingsChange | undefined
  readonly settingsPlace: (field: string) => Place
}

const MAX_CHARACTERS = 16_777_216
/** Bounds the expansion of aliases. */
const MAX_ALIASES = 1000
/** Levels of lists and groups; a declaration needs six. */
const MAX_DEPTH = 64
const TOO_DEEP = `Nested too deeply; use at most ${MAX_DEPTH} levels`
/** Better messages for errors of the YAML parser. */
const PROBLEMS: Partial<Record<string, string>> = {
  RESOURCE_EXHAUSTION: TOO_DEEP,
  MULTIPLE_DOCS: 'A second document begins here; use one document',
}

/**
 * Reads YAML or JSON: a pipeline, a list of pipelines, or `{ pipelines, settings, manage }`. Throws DeclarationError with every mistake.
 * @param name of the file, for errors
 */
export const readDeclaration = (text: string, name: string): Declaration => new Reader(text, name).read()

class Reader {
  readonly #name: string
  readonly #text: string
  readonly #lines = new LineCounter()
  #parsed: ReturnType<typeof parseDocument> | undefined
  readonly #value: unknown
  readonly #mistakes: string[] = []

  constructor(text: string, name: string) {
    this.#name = name
    this.#text = text
    if (text.length > MAX_CHARACTERS) throw new DeclarationError([`${name}: The file has more than ${MAX_CHARACTERS} characters`])
    this.#value = plainJson(text) ?? this.#yaml()
    const deep = beyondDepth(this.#value)
    if (deep !== undefined) throw new DeclarationError([`${this.#place(deep)}: ${TOO_DEEP}`])
  }

  /** With the places of everything. JSON is YAML (YAML 1.2 section 1.2), so both have line numbers. */
  get #document(): ReturnType<typeof parseDocument> {
    this.#parsed ??= parseDocument(this.#text, { lineCounter: this.#lines, prettyErrors: false })
    return this.#parsed
  }

  #yaml(): unknown {
    // Later errors are mostly consequences of the first one.
    const [syntax] = this.#document.errors
    if (syntax !== undefined) {
      const problem = PROBLEMS[syntax.code] ?? syntax.message.split('\n')[0]
      throw new DeclarationError([`${this.#at(syntax.pos[0])}: ${problem}`])
    }
    try {
      return this.#document.toJS({ maxAliasCount: MAX_ALIASES })
    } catch (error) {
      throw new DeclarationError([`${this.#name}: ${error instanceof RangeError ? TOO_DEEP : messageOf(error)}`])
    }
  }

  read(): Declaration {
    const { items, settings, manage } = this.#parts()
    const pipelines = items.flatMap(({ value, path }) => this.#pipeline(value, path) ?? [])
    this.#refuseDuplicates(pipelines)
    const settingsPlace = (field: string): Place => this.#place(['settings', ...toPath(field)])
    const change =
      settings === undefined
        ? undefined
        : this.#valid(settings, ['settings'], () => validate(settingsPatchSchema, settings, 'settings record'))
    if (this.#mistakes.length > 0) throw new DeclarationError(this.#mistakes)
    return { manage, pipelines, settings: change, settingsPlace }
  }

  #parts(): { readonly items: readonly Item[]; readonly settings?: unknown; readonly manage: Declaration['manage'] } {
    const value = this.#value
    if (Array.isArray(value)) return { items: itemsOf(value, []), manage: 'full' }
    if (!isRecord(value)) throw new DeclarationError([`${this.#name}: Use a list of pipelines, or pipelines and settings`])
    if ('id' in value || 'mode' in value) return { items: [{ value, path: [] }], manage: 'full' }
    const { pipelines = [], settings, manage: given = 'full', ...unknown } = value
    for (const name of Object.keys(unknown)) this.#mistake([name], 'Unknown field; use pipelines and settings')
    const manage = MANAGE.find((one) => one === given)
    if (manage === undefined) this.#mistake(['manage'], `Use one of: ${MANAGE.join(', ')}`)
    if (!Array.isArray(pipelines)) this.#mistake(['pipelines'], 'Use a list')
    return { items: Array.isArray(pipelines) ? itemsOf(pipelines, ['pipelines']) : [], settings, manage: manage ?? 'full' }
  }

  #pipeline(value: unknown, path: Path): DeclaredPipeline | undefined {
    const parsed = this.#valid(value, path, () => validate(pipelineSchema, withMode(value), 'pipeline'))
    if (parsed === undefined) return undefined
    const state = PIPELINE_STATES.find((one) => one === parsed.state)
    if (parsed.state !== undefined && state === undefined) this.#mistake([...path, 'state'], `Use one of: ${PIPELINE_STATES.join(', ')}`)
    return { id: parsed.id, config: configured(parsed), state, place: (field) => this.#place([...path, ...toPath(field)]) }
  }

  #valid<T>(value: unknown, path: Path, check: () => T): T | undefined {
    if (!isRecord(value)) {
      this.#mistake(path, 'Use an object')
      return undefined
    }
    try {
      return check()
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const issues = error.details.issues as readonly ValidationIssue[]
      for (const issue of issues) this.#mistake([...path, ...toPath(issue.path)], issue.message)
      return undefined
    }
  }

  #refuseDuplicates(pipelines: readonly DeclaredPipeline[]): void {
    const known = new Map<string, DeclaredPipeline>()
    for (const pipeline of pipelines) {
      const first = known.get(pipeline.id)
      if (first === undefined) known.set(pipeline.id, pipeline)
      else this.#mistakes.push(`${pipeline.place('id')}: id: ${pipeline.id} is already declared at ${first.place('id')}`)
    }
  }

  #mistake(path: Path, message: string): void {
    const field = path.length === 0 ? '' : `${shownPath(path)}: `
    this.#mistakes.push(`${this.#place(path)}: ${field}${message}`)
  }

  /** Of a missing field: the place of its parent. */
  #place(path: Path): Place {
    let node: Node | null = this.#document.contents
    let offset = node?.range?.[0] ?? 0
    for (const step of path) {
      if (isAlias(node)) node = node.resolve(this.#document) ?? null
      if (isMap(node)) {
        const pair = node.items.find(({ key }) => String(key) === String(step))
        if (pair === undefined) break
        offset = (pair.key as Node).range?.[0] ?? offset
        node = pair.value as Node | null
      } else if (isSeq(node)) {
        node = (node.items[Number(step)] as Node | undefined) ?? null
        if (node === null) break
        offset = node.range?.[0] ?? offset
      } else break
    }
    return this.#at(offset)
  }

  #at(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset)
    return `${this.#name}:${line}:${col}`
  }
}

/**
 * The value of a text that is JSON as programs write it, which takes a tenth of the time of YAML; undefined for any other. Read and
 * written again it is the same text, so no key is there twice.
 */
const plainJson = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    return [undefined, 2].some((indent) => JSON.stringify(value, null, indent) === text) ? value : undefined
  } catch {
    return undefined
  }
}

/** A declared pipeline and its path. */
interface Item {
  readonly value: unknown
  readonly path: Path
}

const itemsOf = (list: readonly unknown[], path: Path): readonly Item[] => list.map((value, at) => ({ value, path: [...path, at] }))

const toPath = (field: string): Path => (field === '' ? [] : field.split('.'))

/** The path to a value that is nested too deeply. */
const beyondDepth = (value: unknown): Path | undefined => {
  // Aliases repeat a value: it is searched again only at a greater depth.
  const seen = new Map<object, number>()
  const search = (inner: unknown, path: Path): Path | undefined => {
    if (typeof inner !== 'object' || inner === null || (seen.get(inner) ?? -1) >= path.length) return undefined
    if (path.length >= MAX_DEPTH) return path
    seen.set(inner, path.length)
    for (const [name, next] of Object.entries(inner)) {
      const found = search(next, [...path, name])
      if (found !== undefined) return found
    }
    return undefined
  }
  return search(value, [])
}

/** `pipelines[2].source.uri` */
const shownPath = (path: Path): string =>
  path.map((step, at) => (typeof step === 'number' ? `[${step}]` : `${at === 0 ? '' : '.'}${step}`)).join('')
