import { COMMON_OPTIONS, OPTIONS, type Option, type OptionName, optionsOf, VERBS, type Verb, type VerbName } from './verbs.ts'

const PROGRAM = 'video-pipeline-service'

// Each script passes the words to `__complete`, which prints one candidate per line with its description after a tab. `:files` stands
// for file names.

const BASH = `_video_pipeline_service() {
  local IFS=$'\\n' current="\${COMP_WORDS[COMP_CWORD]}" found
  found=($(${PROGRAM} __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [[ "\${found[0]}" == :files ]]; then
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "$current"))
  else
    COMPREPLY=("\${found[@]%%$'\\t'*}")
  fi
}
complete -F _video_pipeline_service ${PROGRAM}
`

const ZSH = `#compdef ${PROGRAM}
_video_pipeline_service() {
  local -a found
  found=("\${(@f)$(${PROGRAM} __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "\${found[1]}" == :files ]]; then
    _files
  elif [[ -n "\${found[1]}" ]]; then
    found=("\${(@)found//:/\\\\:}")
    found=("\${(@)found/$'\\t'/:}")
    _describe '${PROGRAM}' found
  fi
}
compdef _video_pipeline_service ${PROGRAM}
`

const FISH = `function __video_pipeline_service
  set -l words (commandline -opc) (commandline -ct)
  set -l found (${PROGRAM} __complete $words[2..-1] 2>/dev/null)
  if test "$found[1]" = ':files'
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $found
  end
end
complete -c ${PROGRAM} -f -a '(__video_pipeline_service)'
`

/** The completion scripts by shell. */
export const COMPLETIONS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH }

/** A word that may follow, and its description. */
type Candidate = readonly [word: string, about: string]

interface Known {
  readonly commands: readonly Candidate[]
  /** Ids of pipelines, requested only if one may follow. */
  readonly ids: () => Promise<readonly Candidate[]>
}

/** The completions of the last word. */
export const complete = async (words: readonly string[], { commands, ids }: Known): Promise<readonly string[]> => {
  const [verb = '', ...rest] = words
  const current = rest.at(-1)
  if (current === undefined) return matching(commands, verb)
  if (verb === 'completion')
    return matching(
      Object.keys(COMPLETIONS).map((shell) => [shell, `for ${shell}`]),
      current,
    )
  if (!Object.hasOwn(VERBS, verb)) return []
  const name = verb as VerbName
  const before = rest.at(-2)
  const option = optionsOf(name).find((one) => before === `--${one}` || before === `-${(OPTIONS[one] as Option).short}`)
  if (option !== undefined && (OPTIONS[option] as Option).value !== undefined) return valuesOf(option, current)
  if (current.startsWith('-'))
    return matching(
      optionsOf(name).map((one) => [`--${one}`, OPTIONS[one].about]),
      current,
    )
  const { operands, actions }: Verb = VERBS[name]
  if (actions !== undefined) return rest.length > 1 ? [] : matching(wordsOf(actions), current)
  return operands?.[1] !== 'ID' ? [] : matching(await ids(), current)
}

const wordsOf = (actions: NonNullable<Verb['actions']>): readonly Candidate[] =>
  Object.entries(actions).map(([action, about]) => [action.split(' ', 1)[0] ?? '', about])

const valuesOf = (option: OptionName, current: string): readonly string[] => {
  const { value: kind, values }: Option = OPTIONS[option]
  if (values !== undefined)
    return matching(
      values.map((value) => [value, '']),
      current,
    )
  return kind === 'FILE' ? [':files'] : []
}

const matching = (candidates: readonly Candidate[], current: string): readonly string[] =>
  candidates.filter(([word]) => word.startsWith(current)).map(([word, about]) => (about === '' ? word : `${word}\t${about}`))

/** The options so far that select the service. */
export const serviceOptionsIn = (words: readonly string[]): readonly string[] =>
  COMMON_OPTIONS.filter((name) => name === 'url' || name === 'api-key').flatMap((name) => {
    const at = words.indexOf(`--${name}`)
    return at >= 0 && at + 2 < words.length ? [`--${name}`, words[at + 1] ?? ''] : []
  })
