import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Place, placeText, readPlace } from '../../../../lib/segments/place.ts'
import { api } from '../api/api.ts'
import { pipelines } from '../api/pipelines.ts'
import { Action } from '../ui/action.tsx'
import { TextField } from '../ui/field.tsx'
import { momentHref } from '../ui/route.ts'
import { useLoaded } from '../ui/use-loaded.ts'
import { durationText, timeText } from '../words/format.ts'

/** The newest are listed. */
const MOST = 100

interface WhoSawProps {
  readonly place: Place | undefined
  readonly onPlace: (place: Place | undefined) => void
}

/** Finds the recordings that show a place: one that was clicked on the map, or typed. */
export const WhoSaw = ({ place, onPlace }: WhoSawProps) => {
  const text = useSignal('')
  const typed = readPlace(text.value)
  useEffect(() => {
    if (place !== undefined) text.value = placeText(place)
  }, [place])
  return (
    <section class="who-saw" aria-labelledby="who-saw-title">
      <h2 id="who-saw-title">Who saw this place?</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (typed !== undefined) onPlace(typed)
        }}
      >
        <TextField
          name="Place"
          help="Click on the map, or enter latitude and longitude."
          placeholder="48.137, 11.575"
          error={text.value !== '' && typed === undefined ? 'Use <latitude>, <longitude> in degrees.' : undefined}
          value={text.value}
          onInput={(value) => {
            text.value = value
          }}
        />
        <button type="submit" class="button button-plain" disabled={typed === undefined}>
          Find recordings
        </button>
      </form>
      {place !== undefined && <Found key={placeText(place)} place={place} onEnd={() => onPlace(undefined)} />}
    </section>
  )
}

const Found = ({ place, onEnd }: { readonly place: Place; readonly onEnd: () => void }) => {
  const {
    value: spans,
    failure,
    reload,
  } = useLoaded((signal) => {
    const query = { covers: placeText(place), limit: MOST }
    return api.listRecordings(signal === undefined ? query : { ...query, signal })
  })
  useEffect(() => {
    const end = new AbortController()
    void reload(end.signal)
    return () => end.abort()
  }, [])
  return (
    <div class="who-saw-found" aria-live="polite">
      {failure !== '' && <p class="field-error">{failure}</p>}
      {spans?.length === 0 && <p>No recording shows this place.</p>}
      {spans !== undefined && spans.length > 0 && (
        <ul aria-label="Recordings that show this place">
          {spans.map(({ pipeline_id, from, to }) => {
            const times = `${timeText(from)}, ${durationText(Date.parse(to) - Date.parse(from))}`
            return (
              <li key={`${pipeline_id} ${from}`}>
                {pipelines.value.has(pipeline_id) ? <a href={momentHref(pipeline_id, from, place)}>{pipeline_id}</a> : <b>{pipeline_id}</b>}
                <p class="muted small">{times}</p>
              </li>
            )
          })}
        </ul>
      )}
      <Action kind="quiet" run={onEnd}>
        Clear
      </Action>
    </div>
  )
}
