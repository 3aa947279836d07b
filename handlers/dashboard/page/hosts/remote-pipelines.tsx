import { useSignal } from '@preact/signals'
import { ApiError, wordsOf } from '../api/api.ts'
import { whileVisible } from '../api/follow.ts'
import { isAtRest } from '../api/phase.ts'
import type { Phase, Pipeline } from '../api/types.ts'
import { useVisible } from '../cards/use-visible.ts'
import { Action } from '../ui/action.tsx'
import { StateLabel } from '../ui/state-label.tsx'
import { useAbortable } from '../ui/use-abortable.ts'
import { countText, encodingText, sourceText } from '../words/format.ts'
import { faultText } from '../words/phases.ts'
import type { Host } from './fleet.ts'
import { remoteOf } from './remote.ts'
import { RemotePicture } from './remote-picture.tsx'

interface RemotePipelinesProps {
  readonly host: Host
  readonly control: boolean
}

const POLL_MS = 5000

/** The pipelines of a host, asked through the fleet; where that is not possible, what it has reported of them. */
export const RemotePipelines = ({ host, control }: RemotePipelinesProps) => {
  const asked = useSignal<readonly Pipeline[] | undefined>(undefined)
  const fault = useSignal('')
  const read = async (signal?: AbortSignal): Promise<number | undefined> => {
    try {
      asked.value = await remoteOf(host.host).listPipelines({ signal })
      fault.value = ''
    } catch (error) {
      if (signal?.aborted === true) return undefined
      asked.value = undefined
      fault.value = wordsOf(error)
      if (error instanceof ApiError && error.status === 403) return undefined
    }
    return POLL_MS
  }
  useAbortable((signal) => void (host.linked && whileVisible(signal, () => read(signal))), [host.host, host.linked])
  const again = async (work: Promise<unknown>): Promise<void> => {
    await work
    await read()
  }
  return (
    <section aria-labelledby="host-pipelines">
      <h2 id="host-pipelines" class="host-pipelines">
        {countText(host.pipelines.length, 'pipeline')}
      </h2>
      {fault.value !== '' && host.linked && <p class="muted note">{fault.value}</p>}
      {asked.value === undefined || !host.linked ? (
        <Reported host={host} />
      ) : (
        <ul class="cards">
          {asked.value.map((pipeline) => (
            <RemoteCard key={pipeline.id} host={host.host} pipeline={pipeline} again={control ? again : undefined} />
          ))}
        </ul>
      )}
    </section>
  )
}

interface RemoteCardProps {
  readonly host: string
  readonly pipeline: Pipeline
  /** Reads the pipelines after a change; undefined where nothing may be changed. */
  readonly again: ((work: Promise<unknown>) => Promise<void>) | undefined
}

const RemoteCard = ({ host, pipeline, again }: RemoteCardProps) => {
  const { element, isVisible } = useVisible<HTMLLIElement>()
  const { id, runtime } = pipeline
  const fault = faultText(pipeline, undefined)
  const isOff = isAtRest(pipeline)
  const change = () => (isOff ? remoteOf(host).playPipeline({ id, start: 'background' }) : remoteOf(host).stopPipeline({ id }))
  return (
    <li ref={element} class="card">
      <div class="card-picture">
        <RemotePicture host={host} id={runtime.phase === 'playing' ? id : undefined} isVisible={isVisible.value} />
        <StateLabel pipeline={pipeline} />
      </div>
      <div class="card-body">
        <h3>{id}</h3>
        <p class="card-source" title={sourceText(pipeline)}>
          {sourceText(pipeline)}
        </p>
        {fault !== undefined && <p class="card-fault">{fault}</p>}
      </div>
      <div class="card-foot">
        <span>
          {encodingText(pipeline)} · {countText(runtime.readers, 'reader')}
        </span>
        {again !== undefined && (
          <div class="card-actions">
            <Action
              kind="quiet"
              icon={isOff ? 'play' : 'stop'}
              label={`${isOff ? 'Play' : 'Stop'} ${id} on ${host}`}
              run={() => again(change())}
            >
              {''}
            </Action>
          </div>
        )}
      </div>
    </li>
  )
}

const Reported = ({ host: { pipelines } }: { readonly host: Host }) => (
  <ul class="reported">
    {pipelines.map(({ id, phase }) => (
      <li key={id}>
        <StateLabel pipeline={{ runtime: { phase: phase as Phase }, on_demand: false }} />
        <span>{id}</span>
      </li>
    ))}
  </ul>
)
