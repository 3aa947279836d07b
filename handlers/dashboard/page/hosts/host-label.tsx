import { Icon } from '../ui/icon.tsx'
import type { Host } from './fleet.ts'
import { hostState } from './host-words.ts'

/** The state of a host as color, icon and word. */
export const HostLabel = ({ host }: { readonly host: Host }) => {
  const { word, tone, icon } = hostState(host)
  return (
    <span class={`state tone-${tone}`}>
      <Icon name={icon} />
      {word}
    </span>
  )
}
