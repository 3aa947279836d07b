import { phaseWords } from '../words/phases.ts'
import { Icon } from './icon.tsx'

/** The state as color, icon and word. */
export const StateLabel = ({ pipeline }: { readonly pipeline: Parameters<typeof phaseWords>[0] }) => {
  const { word, tone, icon } = phaseWords(pipeline)
  return (
    <span class={`state tone-${tone}`}>
      <Icon name={icon} />
      {word}
    </span>
  )
}
