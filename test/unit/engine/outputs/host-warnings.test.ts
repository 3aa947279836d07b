import { writeFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { readHostWarnings } from '../../../../engine/outputs/host-warnings.ts'
import { readConfiguration } from '../../../../lib/configuration/configuration.ts'
import { makeCertificate } from '../../../helpers/rtsp/certificate.ts'

const YEAR_MS = 365 * 24 * 60 * 60 * 1000
const warningsOf = (environment: Record<string, string>, now = Date.now()) => {
  const configuration = readConfiguration(environment)
  if ('mistakes' in configuration) throw new Error(configuration.mistakes.join())
  return readHostWarnings(configuration, () => now)
}

it('warns of an output address that the host does not have, of equal ports and of a folder that is missing', async () => {
  const watched = { SVC_MEDIA_SERVER_API: 'http://127.0.0.1:9997' }
  for (const [environment, warnings] of [
    [{}, []],
    [{ SVC_OUTPUT_HOST: '192.0.2.7' }, ['output_address']],
    [{ SVC_OUTPUT_PORTS: '8080' }, ['output_ports']],
    [{ SVC_OUTPUT_PORTS: '8000-8100' }, []],
    [{ SVC_OUTPUT_PORTS: '8081' }, []],
    [{ SVC_OUTPUT_PORTS: '8081', SVC_PROFILE: 'docs' }, ['output_ports']],
    [{ SVC_OUTPUT_PORTS: '8554' }, []],
    [{ SVC_OUTPUT_PORTS: '8554', ...watched }, ['output_ports']],
    [{ SVC_OUTPUT_PORTS: '8554', ...watched, SVC_MEDIA_SERVER: '192.0.2.7:8554' }, []],
    [{ SVC_ALLOW_FILE_SOURCES: '/' }, []],
    [{ SVC_ALLOW_FILE_SOURCES: '/no/such/folder' }, ['file_sources_folder']],
  ] as const)
    expect([environment, await warningsOf(environment)]).toEqual([environment, warnings])
})

it('warns of a certificate that does not fit its key, has expired or is missing, until it is replaced', async () => {
  const [good, other] = [makeCertificate(), makeCertificate()]
  onTestFinished(() => {
    good.remove()
    other.remove()
  })
  const files = { SVC_OUTPUT_TLS_CERT: good.cert, SVC_OUTPUT_TLS_KEY: good.key }
  expect(await warningsOf(files)).toEqual([])
  expect(await warningsOf(files, Date.now() + 200 * YEAR_MS)).toEqual(['output_certificate'])
  expect(await warningsOf({ ...files, SVC_OUTPUT_TLS_KEY: other.key })).toEqual(['output_certificate'])
  writeFileSync(good.cert, '')
  expect(await warningsOf(files)).toEqual(['output_certificate'])
})
