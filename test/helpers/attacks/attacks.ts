import type { Targets } from './targets.ts'

/** A pipeline that reaches for what is not its own. */
export interface Attack {
  readonly name: string
  /** Elements without which it cannot be tried. */
  readonly needs: readonly string[]
  readonly description: (targets: Targets) => string
}

/** Not to be tried without a sandbox: they would harm the host. */
export const HARMFUL: ReadonlySet<string> = new Set(['kernel settings', 'system folders', 'the registry of plugins', 'a disk', 'memory'])

const RAW = 'videotestsrc num-buffers=30 ! video/x-raw,format=I420,width=64,height=64 !'
const DUMP = '! fakesink dump=true async=false'
const SERVED = '! h264parse ! rtph264pay name=pay0'

const octal = (text: string): string => [...Buffer.from(text)].map((byte) => `\\\\${byte.toString(8).padStart(3, '0')}`).join('')

const attack = (name: string, needs: string, description: (targets: Targets) => string): Attack => ({
  name,
  needs: needs.split(' '),
  description,
})

/** Attacks that read: the canary must not come out. */
const READS: readonly Attack[] = [
  attack('filesrc', 'filesrc', ({ secret }) => `filesrc location=${secret} ${DUMP}`),
  attack('filesrc by an address', 'filesrc', ({ secret }) => `file://${secret} ${DUMP}`),
  attack('filesrc by a path', 'filesrc', ({ secret }) => `${secret} ! fakesink dump=true`),
  attack('filesrc after an upward path', 'filesrc', ({ secret }) => `filesrc location=/tmp/../../../../..${secret} ${DUMP}`),
  attack('multifilesrc', 'multifilesrc', ({ secret }) => `multifilesrc num-buffers=2 location=${secret} ${DUMP}`),
  attack('splitfilesrc', 'splitfilesrc', ({ folder }) => `splitfilesrc location=${folder}/secret.* ${DUMP}`),
  attack('imagesequencesrc', 'imagesequencesrc', ({ secret }) => `imagesequencesrc num-buffers=2 location=${secret} caps=a/b ${DUMP}`),
  attack('giosrc', 'giosrc', ({ secret }) => `giosrc location=file://${secret} ${DUMP}`),
  attack('pushfilesrc', 'pushfilesrc', ({ secret }) => `pushfilesrc location=pushfile://${secret} ${DUMP}`),
  attack('curlhttpsrc', 'curlhttpsrc', ({ secret }) => `curlhttpsrc location=file://${secret} ${DUMP}`),
  attack('souphttpsrc', 'souphttpsrc', ({ secret }) => `souphttpsrc location=file://${secret} ${DUMP}`),
  attack('urisourcebin', 'urisourcebin', ({ secret }) => `urisourcebin uri=file://${secret} ${DUMP}`),
  attack(
    'urisourcebin with octal escapes',
    'urisourcebin',
    ({ secret }) => `urisourcebin uri="\\"${octal(`file://${secret}`)}\\"" ${DUMP}`,
  ),
  attack('uridecodebin', 'uridecodebin x264enc', ({ video }) => `uridecodebin uri=file://${video} ! x264enc ! rtph264pay name=pay0`),
  attack(
    'uridecodebin3 with octal escapes',
    'uridecodebin3 x264enc',
    ({ video }) => `uridecodebin3 uri="\\"${octal(`file://${video}`)}\\"" ! x264enc ! rtph264pay name=pay0`,
  ),
  attack(
    'playbin with another source',
    'playbin',
    ({ video }) => `playbin uri=file://${video} video-sink="x264enc ! rtph264pay ! gdppay ! fdsink fd=3"`,
  ),
  attack(
    'subtitles of playbin',
    'playbin',
    ({ web, secret }) => `playbin uri=${web}/video.ts suburi=file://${secret} video-sink=fakesink text-sink="fakesink dump=true"`,
  ),
  attack(
    'an HLS playlist',
    'hlsdemux souphttpsrc',
    ({ web }) => `souphttpsrc location=${web}/segments.m3u8 ! hlsdemux ! tsdemux ${SERVED}`,
  ),
  attack('an HLS variant', 'hlsdemux souphttpsrc', ({ web }) => `souphttpsrc location=${web}/variant.m3u8 ! hlsdemux ! tsdemux ${SERVED}`),
  attack('an HLS map', 'hlsdemux souphttpsrc', ({ web }) => `souphttpsrc location=${web}/map.m3u8 ! hlsdemux ! tsdemux ${SERVED}`),
  attack(
    'an HLS playlist in uridecodebin3',
    'uridecodebin3 x264enc',
    ({ web }) => `uridecodebin3 uri=${web}/segments.m3u8 ! x264enc ! rtph264pay name=pay0`,
  ),
  attack(
    'a DASH manifest',
    'dashdemux souphttpsrc',
    ({ web }) => `souphttpsrc location=${web}/manifest.mpd ! dashdemux ! tsdemux ${SERVED}`,
  ),
  attack('a redirect', 'souphttpsrc tsdemux', ({ web }) => `souphttpsrc location=${web}/redirect ! tsdemux ${SERVED}`),
  attack('sdpsrc', 'sdpsrc', ({ secret }) => `sdpsrc location=file://${secret} ${DUMP}`),
  attack('picture of an SVG', 'rsvgoverlay x264enc', ({ secret }) => `${RAW} rsvgoverlay location=${secret} ! x264enc ! fakesink`),
  attack(
    'file in an SVG',
    'rsvgoverlay',
    ({ secret }) =>
      `${RAW} videoconvert ! rsvgoverlay data="<svg xmlns:x='http://www.w3.org/1999/xlink'><image x:href='file://${secret}'/></svg>" ! videoconvert ${DUMP}`,
  ),
  attack('the own environment', 'filesrc', () => `filesrc location=/proc/self/environ ${DUMP}`),
  attack('the environment of the first process', 'filesrc', () => `filesrc location=/proc/1/environ ${DUMP}`),
  attack('descriptors of the first process', 'filesrc', () => `filesrc location=/proc/1/fd/3 ${DUMP}`),
  attack('a descriptor that the service inherited', 'fdsrc', () => `fdsrc fd=77 ${DUMP}`),
  attack('the root of the first process', 'filesrc', ({ secret }) => `filesrc location=/proc/1/root${secret} ${DUMP}`),
  attack('memory', 'filesrc', () => `filesrc num-buffers=1 location=/proc/kcore ${DUMP}`),
  attack('a disk', 'filesrc', () => `filesrc num-buffers=1 location=/dev/vda ${DUMP}`),
  attack('fluiddec soundfont', 'fluiddec', ({ secret }) => `fakesrc num-buffers=1 ! fluiddec soundfont=${secret} ${DUMP}`),
  attack('lcms profile', 'lcms', ({ secret }) => `${RAW} videoconvert ! lcms input-profile=${secret} ${DUMP}`),
  attack('gdkpixbufoverlay', 'gdkpixbufoverlay', ({ secret }) => `${RAW} gdkpixbufoverlay location=${secret} ${DUMP}`),
  attack('a list of subtitles', 'filesrc subparse', ({ secret }) => `filesrc location=${secret} ! subparse ${DUMP}`),
]

/** Attacks that write: nothing may be created or changed. */
const WRITES: readonly Attack[] = [
  attack('filesink', 'filesink', ({ victim }) => `${RAW} filesink location=${victim}`),
  attack('multifilesink', 'multifilesink', ({ folder }) => `${RAW} multifilesink location=${folder}/m%d`),
  attack('splitmuxsink', 'splitmuxsink x264enc', ({ folder }) => `${RAW} x264enc ! splitmuxsink location=${folder}/s%d.mp4`),
  attack(
    'splitmuxsink with octal escapes',
    'splitmuxsink x264enc',
    ({ folder }) => `${RAW} x264enc ! splitmuxsink location="\\"${octal(`${folder}/o.mp4`)}\\""`,
  ),
  attack(
    'hlssink2',
    'hlssink2 x264enc',
    ({ folder }) => `${RAW} x264enc ! hlssink2 location=${folder}/h%d.ts playlist-location=${folder}/h.m3u8`,
  ),
  attack('dashsink', 'dashsink x264enc', ({ folder }) => `${RAW} x264enc ! dashsink mpd-root-path=${folder} mpd-filename=d.mpd`),
  attack('curlfilesink', 'curlfilesink', ({ folder }) => `${RAW} curlfilesink location=file://${folder} file-name=c`),
  attack('giosink', 'giosink', ({ folder }) => `${RAW} giosink location=file://${folder}/g`),
  attack('dump of x264enc', 'x264enc', ({ folder }) => `${RAW} x264enc option-string="dump_yuv=${folder}/x.yuv" ! fakesink`),
  attack('dump of x264enc with a dash', 'x264enc', ({ folder }) => `${RAW} x264enc option-string="dump-yuv=${folder}/x.yuv" ! fakesink`),
  attack(
    'statistics of x264enc',
    'x264enc',
    ({ folder }) => `${RAW} x264enc pass=pass1 option-string="sta\\\\164s=${folder}/x.stats" ! fakesink`,
  ),
  attack('multipass of x264enc', 'x264enc', ({ folder }) => `${RAW} x264enc pass=pass1 multipass_cache_file=${folder}/x.log ! fakesink`),
  attack(
    'multipass of vp8enc',
    'vp8enc',
    ({ folder }) => `${RAW} vp8enc multipass-mode=first-pass multipass-cache-file=${folder}/v.log ! fakesink`,
  ),
  attack('CSV of x265enc', 'x265enc', ({ folder }) => `${RAW} x265enc option-string="csv=${folder}/x.csv:csv-log-level=2" ! fakesink`),
  attack(
    'analysis of x265enc',
    'x265enc',
    ({ folder }) => `${RAW} x265enc option-string="analysis-save=${folder}/x.dat:analysis-save-reuse-level=5" ! fakesink`,
  ),
  attack('reconstruction of x265enc', 'x265enc', ({ folder }) => `${RAW} x265enc option-string="recon=${folder}/x.yuv" ! fakesink`),
  attack('a library', 'avenc_h264_omx', ({ library }) => `${RAW} avenc_h264_omx omx-libname=${library} ! fakesink`),
  attack('a plugin by an option', 'videotestsrc', ({ library }) => `--gst-plugin-load=${library} ${RAW} fakesink`),
  attack('a plugin path by an option', 'videotestsrc', ({ folder }) => `${RAW} fakesink --gst-plugin-path=${folder}`),
  attack(
    'recovery of qtmoovrecover',
    'qtmoovrecover',
    ({ secret, folder }) => `qtmoovrecover recovery-input=${secret} broken-input=${secret} fixed-output=${folder}/q`,
  ),
  attack('recovery of mp4mux', 'mp4mux x264enc', ({ folder }) => `${RAW} x264enc ! mp4mux moov-recovery-file=${folder}/r ! fakesink`),
  attack(
    'fast start of mp4mux',
    'mp4mux x264enc',
    ({ folder }) => `${RAW} x264enc ! mp4mux faststart=true faststart-file=${folder}/f ! fakesink`,
  ),
  attack(
    'temporary file of queue2',
    'queue2',
    ({ folder }) => `${RAW} queue2 temp-template=${folder}/qXXXXXX temp-remove=false ! fakesink`,
  ),
  attack(
    'temporary file of downloadbuffer',
    'downloadbuffer',
    ({ folder }) => `${RAW} downloadbuffer temp-template=${folder}/dXXXXXX temp-remove=false ! fakesink`,
  ),
  attack(
    'subtitles of teletextdec',
    'teletextdec',
    ({ folder }) => `fakesrc num-buffers=1 ! teletextdec subtitles-template=${folder}/t ! fakesink`,
  ),
  attack('a socket of shmsink', 'shmsink', ({ folder }) => `${RAW} shmsink wait-for-connection=false socket-path=${folder}/shm`),
  attack('a program of the host over shmsrc', 'shmsrc', ({ socket }) => `shmsrc socket-path=${socket} ! fakesink`),
  attack('the desktop', 'ximagesrc', ({ desktop }) => `ximagesrc display-name=:${desktop} num-buffers=1 ! fakesink`),
  attack('a window on the desktop', 'ximagesink', ({ desktop }) => `${RAW} ximagesink display=:${desktop}`),
  attack('PulseAudio', 'pulsesrc', ({ socket }) => `pulsesrc server=unix:${socket} num-buffers=1 ! fakesink`),
  attack('the registry of plugins', 'filesink', () => `${RAW} filesink location=/run/gstreamer-registry.bin`),
  attack('kernel settings', 'filesink', () => 'fakesrc num-buffers=1 sizetype=fixed ! filesink location=/proc/sys/kernel/core_pattern'),
  attack('system folders', 'filesink', () => `${RAW} filesink location=/usr/lib/planted`),
  attack('a descriptor that the service inherited, written', 'fdsink', () => `${RAW} fdsink fd=77`),
]

export const ATTACKS: readonly (Attack & { readonly kind: 'read' | 'write' })[] = [
  ...READS.map((one) => ({ ...one, kind: 'read' as const })),
  ...WRITES.map((one) => ({ ...one, kind: 'write' as const })),
]
