import { useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { api } from './api/api.ts'
import { healthReports } from './api/health.ts'
import { connected } from './api/pipelines.ts'
import { authEnabled, keepToken, loginNeeded } from './api/session.ts'
import { outdated } from './api/upgrade.ts'
import { CamerasPage } from './cameras/cameras-page.tsx'
import { CreatePage } from './forms/create-page.tsx'
import { EditPage } from './forms/edit-page.tsx'
import { HostProblems } from './host-problems.tsx'
import { HostPage } from './hosts/host-page.tsx'
import { HostsPage } from './hosts/hosts-page.tsx'
import { LogPage } from './log-page.tsx'
import { Login } from './login.tsx'
import { MapPage } from './map/map-page.tsx'
import { Overview } from './overview/overview.tsx'
import { WallPage } from './overview/wall-page.tsx'
import { PipelinePage } from './pipeline/pipeline-page.tsx'
import { SettingsPage } from './settings/settings-page.tsx'
import { Icon, type IconName } from './ui/icon.tsx'
import { Notices } from './ui/notices.tsx'
import { pipelineHref, route } from './ui/route.ts'
import { discardAllUnsaved } from './ui/unsaved.ts'
import { WatchPage } from './watch-page.tsx'

const TITLES = {
  overview: 'Pipelines',
  create: 'New pipeline',
  pipeline: 'Pipeline',
  edit: 'Edit pipeline',
  watch: 'Live picture',
  wall: 'Wall',
  map: 'Map',
  hosts: 'Hosts',
  host: 'Host',
  log: 'Logs',
  cameras: 'Cameras',
  settings: 'Settings',
} as const

const LINKS: readonly { readonly page: keyof typeof TITLES; readonly href: string; readonly icon: IconName }[] = [
  { page: 'overview', href: '#/', icon: 'grid' },
  { page: 'wall', href: '#/wall', icon: 'wall' },
  { page: 'map', href: '#/map', icon: 'map' },
  { page: 'hosts', href: '#/hosts', icon: 'hosts' },
  { page: 'log', href: '#/log', icon: 'lines' },
  { page: 'cameras', href: '#/cameras', icon: 'camera' },
  { page: 'settings', href: '#/settings', icon: 'sliders' },
]

/** The frame of every page: bar, navigation, messages, and the login if needed. */
export const Shell = () => {
  useSignalEffect(() => {
    const { value } = route
    document.title = `${'id' in value ? value.id : TITLES[value.page]} · Video pipelines`
  })
  useHeadingFocus()
  if (loginNeeded.value) return <Login />
  if (route.value.page === 'watch') return <WatchPage key={route.value.id} id={route.value.id} />
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to content
      </button>
      <header class="bar">
        <a class="brand" href="#/">
          <img src="icon.svg" alt="" width="24" height="24" />
          <span>Video pipelines</span>
        </a>
        <nav class="links" aria-label="Main">
          {LINKS.filter(({ page }) => page !== 'hosts' || isInFleet()).map(({ page, href, icon }) => (
            <a key={page} href={href} aria-current={currentOf(page)}>
              <Icon name={icon} />
              {TITLES[page]}
            </a>
          ))}
        </nav>
        <div class="bar-end">
          <Connection />
          {authEnabled.value === true && (
            <button type="button" class="button button-quiet" onClick={logOut}>
              Log out
            </button>
          )}
        </div>
      </header>
      <Outdated />
      <HostProblems />
      <main id="content" tabIndex={-1} class={connected.value === false ? 'away' : ''}>
        <CurrentPage />
      </main>
      <Notices />
    </>
  )
}

/** Moves the focus to the heading of an opened page, or back to the card of the pipeline that was left. */
const useHeadingFocus = (): void => {
  const { value } = route
  const shown = useRef(value)
  useEffect(() => {
    const before = shown.current
    if (before === value) return
    shown.current = value
    const card = value.page === 'overview' && 'id' in before ? cardLinkOf(before.id) : null
    if (card !== null) {
      card.focus()
      return
    }
    const heading = document.querySelector<HTMLElement>('#content h1')
    heading?.setAttribute('tabindex', '-1')
    heading?.focus({ preventScroll: true })
  }, [value])
}

const cardLinkOf = (id: string): HTMLElement | null => document.querySelector(`.card-link[href="${pipelineHref(id)}"]`)

const Outdated = () =>
  outdated.value === undefined ? null : (
    <div class="outdated" role="status">
      <Icon name="alert" />
      <p>{outdated.value}</p>
      <button type="button" class="button button-plain" onClick={() => location.reload()}>
        Reload the page
      </button>
    </div>
  )

/** Links are drawn before health is known: this one comes with it. */
const isInFleet = (): boolean => (healthReports.value[0]?.fleet ?? 'off') !== 'off'

/** The pages of one pipeline belong to the overview, that of a host to the hosts. */
const currentOf = (page: keyof typeof TITLES): 'page' | 'true' | undefined => {
  const { value } = route
  if (value.page === page) return 'page'
  if (value.page === 'host') return page === 'hosts' ? 'true' : undefined
  const isBelow = value.page === 'pipeline' || value.page === 'create' || value.page === 'edit'
  return page === 'overview' && isBelow ? 'true' : undefined
}

const CurrentPage = () => {
  const { value } = route
  if (value.page === 'pipeline') return <PipelinePage key={value.id} id={value.id} moment={value.moment} />
  if (value.page === 'create') return <CreatePage uri={value.uri} />
  if (value.page === 'edit') return <EditPage key={value.id} id={value.id} />
  if (value.page === 'wall') return <WallPage />
  if (value.page === 'hosts') return <HostsPage />
  if (value.page === 'host') return <HostPage key={value.id} name={value.id} />
  if (value.page === 'map') return <MapPage />
  if (value.page === 'log') return <LogPage />
  if (value.page === 'cameras') return <CamerasPage />
  if (value.page === 'settings') return <SettingsPage />
  return <Overview />
}

/** Not a link: the hash is the route. */
const skip = (): void => {
  document.getElementById('content')?.focus()
}

const Connection = () => (
  <p class="connection" role="status">
    {connected.value === false && (
      <span class="state tone-busy">
        <Icon name="wait" />
        Connecting to the service
      </span>
    )}
  </p>
)

const logOut = async (): Promise<void> => {
  // The token is removed even without an answer.
  await api.logout().catch(() => {})
  keepToken(undefined)
  discardAllUnsaved()
  loginNeeded.value = true
}
