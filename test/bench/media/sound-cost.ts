/**
 * What sound costs: CPU time of the engine for READERS readers of an 8 Mbit/s stream with its sound (AAC) beside as many without, in turns;
 * and that of encoding G.711 to AAC, for one of PIPELINES pipelines whose picture passes through, as a part of a core.
 * sound-cost [READERS] [PIPELINES] [ROUNDS] [SECONDS]
 */
import { join } from 'node:path'
import { cpuSeconds, encodedStream, quantile, sleep, start, startServer } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { freePort } from '../../helpers/ports.ts'
import { childrenOf } from '../../helpers/process/processes.ts'

const [readers = '25', pipelines = '8', rounds = '3', seconds = '8'] = process.argv.slice(2)
/** What counts is the cost when the code is compiled, as in rtsp-fanout. */
const WARM_UP_MS = 40_000
const LOAD = join(import.meta.dirname, '../../helpers/bench/rtsp-load.ts')

const VIDEO = `filesrc location=${encodedStream()} ! tsdemux ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=-1`
const AAC = 'audiotestsrc ! audio/x-raw,rate=48000,channels=2 ! avenc_aac bitrate=128000 ! aacparse ! rtpmp4gpay name=pay1 pt=97'
const SMALL =
  'videotestsrc ! video/x-raw,width=320,height=240,framerate=25/1,format=I420 ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=50 ! ' +
  'rtph264pay name=pay0 pt=96 config-interval=-1'
const G711 = 'audiotestsrc samplesperbuffer=160 ! audio/x-raw,rate=8000,channels=1 ! alawenc ! rtppcmapay name=pay1 pt=8'

/** CPU seconds of a process and all below it. */
const wholeTree = (pid: number): number => childrenOf(pid).reduce((sum, child) => sum + wholeTree(child.pid), cpuSeconds(pid))

/** A part of a core. */
const usedIn = async (ms: number, read: () => number): Promise<number> => {
  const [before, at] = [read(), performance.now()]
  await sleep(ms)
  return ((read() - before) * 1000) / (performance.now() - at)
}

/** A part of a core that the engine uses. */
const fanOut = (audio: 'copy' | 'off') =>
  withService(async (service) => {
    const feed = await startServer('gst-rtsp-server', await freePort(), `${VIDEO} ${AAC}`)
    const url = await createPipeline(service, { id: 'bench', source: { uri: feed.url, latency_ms: 0 }, audio })
    const load = start(process.execPath, [LOAD, url, readers, 'tcp', audio === 'copy' ? 'sound' : 'video'])
    await load.until((lines) => JSON.parse(lines.at(-1) ?? '{}').readers === Number(readers))
    await sleep(WARM_UP_MS)
    const used = await usedIn(Number(seconds) * 1000, () => cpuSeconds(service.enginePid()))
    await load.stop()
    await feed.stop()
    return used
  })

/** A part of a core that engine and encoders use for all pipelines. */
const encoding = (audio: 'copy' | 'aac') =>
  withService(async (service) => {
    const feed = await startServer('gst-rtsp-server', await freePort(), `${SMALL} ${G711}`)
    for (let at = 0; at < Number(pipelines); at += 1)
      await createPipeline(service, { id: `bench-${at}`, source: { uri: feed.url, latency_ms: 0 }, audio })
    await sleep(WARM_UP_MS)
    const used = await usedIn(Number(seconds) * 1000, () => wholeTree(service.enginePid()))
    const { body } = await service.request('GET', '/svc/pipeline/bench-0')
    if (body.runtime.audio.codec !== (audio === 'aac' ? 'aac' : 'pcma')) throw new Error(JSON.stringify(body.runtime.audio))
    await feed.stop()
    return used
  })

const results = { with: [] as number[], without: [] as number[], aac: [] as number[], copy: [] as number[] }
for (let round = 0; round < Number(rounds); round += 1) {
  results.without.push(await fanOut('off'))
  results.with.push(await fanOut('copy'))
  results.copy.push(await encoding('copy'))
  results.aac.push(await encoding('aac'))
}
const median = (name: keyof typeof results): number => quantile(results[name], 0.5)
const three = (value: number): number => Math.round(value * 1000) / 1000
console.log(
  JSON.stringify({
    fan_out_percent_of_a_core: { with_sound: three(median('with') * 100), without: three(median('without') * 100) },
    fan_out_ratio: three(median('with') / median('without')),
    g711_to_aac_percent_of_a_core: three(((median('aac') - median('copy')) * 100) / Number(pipelines)),
    rounds: results,
  }),
)
