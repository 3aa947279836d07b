import type { ComponentChildren } from 'preact'
import { countText } from '../words/format.ts'

interface CardsProps {
  /** One of what the cards show. */
  readonly noun: 'pipeline' | 'host'
  readonly showAll: () => void
  readonly children: readonly ComponentChildren[]
}

/** The cards that the filters have left. */
export const Cards = ({ noun, showAll, children }: CardsProps) => (
  <>
    <p class="sr-only" role="status">
      {countText(children.length, noun)} shown
    </p>
    {children.length === 0 ? (
      <div class="empty">
        <p>No {noun} matches.</p>
        <button type="button" class="button button-plain" onClick={showAll}>
          Show all
        </button>
      </div>
    ) : (
      <ul class="cards">{children}</ul>
    )}
  </>
)
