import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { describe, expect, it, onTestFinished } from 'vitest'
import { clientAddressOf } from '../../../../handlers/worker/client-address.ts'

// The package has no types; it exports the path of its program.
const { default: WORKERD } = createRequire(import.meta.url)('workerd') as { default: string }
const ROOT = resolve(import.meta.dirname, '../../../..')
const sent = { 'cf-connecting-ip': '192.0.2.66', 'x-forwarded-for': '192.0.2.67, 192.0.2.1' }

describe('the client address of a request to a worker', () => {
  it.each([
    ['is unknown when nothing that can be trusted states it', sent, undefined, {}, undefined],
    ['is what workerd states, without the port', sent, { clientIp: '192.0.2.1:46870' }, {}, '192.0.2.1'],
    ['is what workerd states of IPv6', sent, { clientIp: '[2001:db8::1]:46870' }, {}, '2001:db8::1'],
    ['is unknown for a local socket', sent, { clientPid: 5, clientUid: 0 }, {}, undefined],
    ['is the last of X-Forwarded-For behind a proxy', sent, { clientIp: '10.0.0.1:5' }, { trustProxy: true }, '192.0.2.1'],
    ['is no other header behind a proxy', { 'cf-connecting-ip': '192.0.2.66' }, undefined, { trustProxy: true }, undefined],
    ['is the header of the platform', sent, undefined, { clientAddressHeader: 'cf-connecting-ip' }, '192.0.2.66'],
    ['is the header of the platform before all', sent, {}, { clientAddressHeader: 'cf-connecting-ip', trustProxy: true }, '192.0.2.66'],
    ['is unknown when the header is no address', { 'x-real-ip': 'a' }, undefined, { clientAddressHeader: 'x-real-ip' }, undefined],
  ])('%s', (_title, headers, cf, trusted, address) => {
    const trust = { trustProxy: false, clientAddressHeader: undefined, ...trusted }
    expect(clientAddressOf({ headers: new Headers(headers as Record<string, string>), cf }, trust)).toBe(address)
  })

  it('comes from workerd itself, whatever the client sends', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'workerd-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    await build({
      stdin: {
        resolveDir: ROOT,
        contents: `import { clientAddressOf } from './handlers/worker/client-address.ts'
          export default { fetch: (request) => new Response(clientAddressOf(request, { trustProxy: false }) ?? 'unknown') }`,
      },
      bundle: true,
      format: 'esm',
      outfile: join(folder, 'worker.js'),
    })
    writeFileSync(
      join(folder, 'config.capnp'),
      `using Workerd = import "/workerd/workerd.capnp";
       const config :Workerd.Config = (
         services = [(name = "main", worker = (modules = [(name = "w", esModule = embed "worker.js")], compatibilityDate = "2026-07-01"))],
         sockets = [(name = "http", address = "*:0", http = (), service = "main")]
       );`,
    )
    const child = spawn(WORKERD, ['serve', 'config.capnp', '--control-fd=3'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const control = child.stdio[3] as NodeJS.ReadableStream
    const port = await new Promise<number>((found) => {
      let text = ''
      control.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        const match = /"port":(\d+)/.exec(text)
        if (match !== null) found(Number(match[1]))
      })
    })
    const seen = (host: string, localAddress: string): Promise<string> =>
      new Promise((answered, fail) => {
        const call = request({ host, port, localAddress, headers: sent }, (response) => {
          response.setEncoding('utf8').once('data', answered)
        })
        call.once('error', fail).end()
      })
    expect(await seen('127.0.0.1', '127.0.0.1')).toMatch(/^(?:::ffff:)?127\.0\.0\.1$/)
    expect(await seen('127.0.0.1', '127.0.0.2')).toMatch(/^(?:::ffff:)?127\.0\.0\.2$/)
  })
})
