import { CardFact } from '../cards/card-fact.tsx'
import { useVisible } from '../cards/use-visible.ts'
import { hostHref } from '../ui/route.ts'
import { countText, timeText } from '../words/format.ts'
import type { Host } from './fleet.ts'
import { HostLabel } from './host-label.tsx'
import { documentText, labelTexts, playingText } from './host-words.ts'
import { RemotePicture } from './remote-picture.tsx'

/** One host: a picture of its first pipeline that plays, state, drift, error. */
export const HostCard = ({ host }: { readonly host: Host }) => {
  const { element, isVisible } = useVisible<HTMLLIElement>()
  const shown = host.pipelines.find(({ phase }) => phase === 'playing')
  return (
    <li ref={element} class="card">
      <div class="card-picture">
        <RemotePicture host={host.host} id={host.linked ? shown?.id : undefined} isVisible={isVisible.value} />
        <HostLabel host={host} />
      </div>
      <div class="card-body">
        <h2>
          <a class="card-link" href={hostHref(host.host)}>
            {host.host}
          </a>
        </h2>
        <p class="card-source">{labelTexts(host).join(' ') || 'No labels'}</p>
        {host.error !== null && <p class="card-fault">{host.error}</p>}
      </div>
      <div class="card-foot">
        <dl class="card-facts">
          <CardFact icon="camera" name="Pipelines">
            {playingText(host)}
          </CardFact>
          <CardFact icon="edit" name="Document">
            {documentText(host)}
          </CardFact>
          {host.drift.length > 0 && (
            <CardFact icon="alert" name="Drift">
              {countText(host.drift.length, 'difference')}
            </CardFact>
          )}
          {!host.linked && (
            <CardFact icon="clock" name="Last report">
              {timeText(host.at)}
            </CardFact>
          )}
        </dl>
      </div>
    </li>
  )
}
