import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import type { ByteSource, EngineAnswers, FileBytes, Jpeg, LineSource } from '../../../engine/http/dispatch.ts'
import { createEngineServer } from '../../../engine/http/server.ts'
import { sha256 } from '../../../lib/access/digest.ts'
import type { AnyCall, FileAnswer, JpegAnswer } from '../../../lib/engine/call.ts'
import {
  type Cameras,
  type Engine,
  type EngineClient,
  type Klv,
  type Live,
  PROTOCOL,
  type Recordings,
  type Screenshots,
} from '../../../lib/engine/protocol.ts'
import type { PasswordHasher } from '../../../lib/ports.ts'

/** The fakes behind the server. */
export interface EngineParts {
  readonly engine: Engine
  readonly screenshots: Screenshots
  readonly recordings: Recordings
  readonly klv: Klv
  readonly live: Live
  readonly cameras: Cameras
  readonly hasher: PasswordHasher
}

/** The real hash is slow on purpose; here only its form matters. */
export const fakeHasher: PasswordHasher = {
  hash: async (password) => `$argon2id$fake$${await sha256(password)}`,
  verify: async (hash, password) => hash === (await fakeHasher.hash(password)),
}

export interface FakeEngineServer {
  readonly url: string
  close(): void
}

/** The engine's own HTTP server, with fakes in the place of media. `parts` is asked with each call. */
export const startFakeEngineServer = async (parts: () => EngineParts, token: string): Promise<FakeEngineServer> => {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: (event: string, fields: unknown) => console.error(event, fields) }
  const server = createEngineServer({ answers: answersOf(() => clientOf(parts())), token, log, onContact: () => {} })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // It may be shared by all test files of a process.
  server.unref()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

const clientOf = ({ hasher, ...ports }: EngineParts): EngineClient => ({
  ...ports,
  license: { set: async () => undefined },
  passwords: {
    hash: async ({ password }) => ({ hash: await hasher.hash(password) }),
    verify: async ({ hash, password }) => ({ matches: await hasher.verify(hash, password) }),
  },
  metrics: { read: async () => '# the metrics of the engine\n' },
})

type Method = (...args: unknown[]) => unknown

/** Each fake method as the answer of its row. */
const answersOf = (client: () => EngineClient): EngineAnswers => {
  const answerOf = (part: string, name: string, call: AnyCall): Method => {
    const method: Method = (...args) => (client() as unknown as Record<string, Record<string, Method>>)[part]?.[name]?.(...args)
    if (call.kind === 'jpeg') return async (...args) => toJpeg((await method(...args)) as JpegAnswer)
    if (call.kind === 'file') return async (...args) => toFile((await method(...args)) as FileAnswer)
    if (call.kind === 'stream') return async (...args) => toBytes((await method(...args)) as ReadableStream<Uint8Array>)
    if (call.kind === 'lines') return (...args) => toSource((signal) => method(...args, signal) as AsyncIterable<unknown>)
    return method
  }
  const partOf = (part: string, calls: Readonly<Record<string, AnyCall>>) =>
    Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, answerOf(part, name, call)]))
  const answers = Object.fromEntries(
    Object.entries(PROTOCOL).map(([part, calls]) => [part, partOf(part, calls)]),
  ) as unknown as EngineAnswers
  return {
    ...answers,
    // A stream that cannot begin answers with the reason.
    klv: {
      ...answers.klv,
      events: async (id) =>
        client()
          .engine.view(id)
          .then(() => answers.klv.events(id)),
    },
    cameras: {
      ...answers.cameras,
      events: async () =>
        client()
          .cameras.list()
          .then(() => answers.cameras.events()),
    },
  }
}

const toJpeg = ({ headers, body }: JpegAnswer): Jpeg => ({
  headers: Object.fromEntries(headers),
  body: body instanceof ReadableStream ? Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]) : Buffer.from(body ?? []),
})

const toFile = ({ status, headers, body }: FileAnswer): FileBytes => ({
  status: status === 206 ? 206 : 200,
  headers: Object.fromEntries(headers),
  body: Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]),
})

const toBytes =
  (stream: ReadableStream<Uint8Array>): ByteSource =>
  (out) =>
    pipeline(Readable.fromWeb(stream as Parameters<typeof Readable.fromWeb>[0]), out, () => {})

/** A fake's stream; one that fails or ends ends the answer. */
const toSource =
  (open: (signal: AbortSignal) => AsyncIterable<unknown>): LineSource<unknown> =>
  ({ push, end }) => {
    const abort = new AbortController()
    const relay = async (): Promise<void> => {
      for await (const event of open(abort.signal)) push(event)
    }
    relay().then(end, end)
    return () => abort.abort()
  }
