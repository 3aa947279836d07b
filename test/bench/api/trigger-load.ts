/**
 * Triggers on the running service, with a third-party media server: how long a publish takes to its answer and to the first packet at
 * a reader, and an unpublish to its answer. trigger-load [ROUNDS]
 */
import { TRIGGER_KEY, trigger } from '../../helpers/api/trigger-storm.ts'
import { quantile } from '../../helpers/bench/measure.ts'
import { withService } from '../../helpers/bench/service-run.ts'
import { publishWithFfmpeg, startMediaServer } from '../../helpers/media/media-server.ts'
import type { Service } from '../../helpers/process/service.ts'
import { openReader } from '../../helpers/rtsp/reader.ts'

const rounds = Number(process.argv[2] ?? 10)

const timings = async (service: Service): Promise<void> => {
  const answered: number[] = []
  const shown: number[] = []
  const removed: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const began = performance.now()
    const { status, body } = await trigger(service, 'PUT', 's/1')
    if (status !== 200) throw new Error(JSON.stringify(body))
    answered.push(performance.now() - began)
    const { output } = (await service.request('GET', '/svc/pipeline/s1')).body
    const reader = await openReader(output.uri.replace('0.0.0.0', '127.0.0.1'))
    await reader.until(() => reader.count > 0)
    shown.push(performance.now() - began)
    await reader.close()
    const ends = performance.now()
    await trigger(service, 'DELETE', 's/1')
    removed.push(performance.now() - ends)
  }
  const of = (values: readonly number[]) => ({
    median: Math.round(quantile(values, 0.5)),
    p95: Math.round(quantile(values, 0.95)),
    max: Math.round(Math.max(...values)),
  })
  console.log(
    JSON.stringify({ rounds, put_to_answer_ms: of(answered), put_to_first_packet_ms: of(shown), delete_to_answer_ms: of(removed) }),
  )
}

const server = await startMediaServer()
const publisher = publishWithFfmpeg(server.publishUrl('s/1'), '160x120', 5)
try {
  await server.line(({ available }) => available === 's/1')
  await withService(timings, { SVC_API_KEY: TRIGGER_KEY, SVC_MEDIA_SERVER: `127.0.0.1:${server.port}` })
} finally {
  await publisher.kill()
  await server.stop()
}
