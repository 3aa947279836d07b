import { describe, expect, it } from 'vitest'
import { classifyEnd, TRANSPORT_REFUSED } from '../../../../engine/gst/bus-errors.ts'

const failed = { exitCode: 1, signal: null, missing: false } as const

/** Recorded stderr of gst-launch-1.0 1.22; of the camera in use, according to its source code. */
const RECORDED: readonly (readonly [what: string, reason: string, stderr: string])[] = [
  [
    'RTSP 401',
    'unauthorized',
    'ERROR: from element /GstPipeline:pipeline0/GstRTSPSrc:rtspsrc0: Unauthorized\nAdditional debug info:\n../gst/rtsp/gstrtspsrc.c(6899): gst_rtspsrc_send (): /GstPipeline:pipeline0/GstRTSPSrc:rtspsrc0:\nUnauthorized (401)',
  ],
  [
    'RTSP 404',
    'not_found',
    'ERROR: from element /GstPipeline:pipeline0/GstRTSPSrc:rtspsrc0: Not found\nAdditional debug info:\n../gst/rtsp/gstrtspsrc.c(6895): gst_rtspsrc_send (): /GstPipeline:pipeline0/GstRTSPSrc:rtspsrc0:\nNot Found (404)',
  ],
  [
    'RTSP 503',
    'source_error',
    "ERROR: from element /GstPipeline:pipeline0/GstRTSPSrc:rtspsrc0: Unhandled error\nAdditional debug info:\n../gst/rtsp/gstrtspsrc.c(6954): gst_rtspsrc_send (): /GstPipeline:pipeline0/GstRTSPSrc:rtspsrc0:\nService Unavailable (503)\nERROR: pipeline doesn't want to preroll.",
  ],
  [
    'RTSP refused',
    'unreachable',
    'ERROR: from element /GstPipeline:pipeline0/GstRTSPSrc:rtspsrc0: Could not open resource for reading and writing.\nAdditional debug info:\n../gst/rtsp/gstrtspsrc.c(8336): gst_rtspsrc_retrieve_sdp (): /GstPipeline:pipeline0/GstRTSPSrc:rtspsrc0:\nFailed to connect. (Generic error)',
  ],
  [
    'RTSP over UDP only',
    'source_error',
    'ERROR: from element /GstPipeline:pipeline0/GstRTSPSrc:rtspsrc0: No supported stream was found. You might need to allow more transport protocols or may otherwise be missing the right GStreamer RTSP extension plugin.\nAdditional debug info:\n../gst/rtsp/gstrtspsrc.c(7894): gst_rtspsrc_setup_streams_start (): /GstPipeline:pipeline0/GstRTSPSrc:rtspsrc0',
  ],
  [
    'RTSP silence',
    'timeout',
    'ERROR: from element /GstPipeline:pipeline0/GstRTSPSrc:rtspsrc0: Could not read from resource.\nAdditional debug info:\n../gst/rtsp/gstrtspsrc.c(6682): gst_rtsp_src_receive_response (): /GstPipeline:pipeline0/GstRTSPSrc:rtspsrc0:\nCould not receive message. (Timeout while waiting for server response)',
  ],
  [
    'missing file',
    'not_found',
    'ERROR: from element /GstPipeline:pipeline0/GstFileSrc:filesrc0: Resource not found.\nAdditional debug info:\n../plugins/elements/gstfilesrc.c(553): gst_file_src_start (): /GstPipeline:pipeline0/GstFileSrc:filesrc0:\nNo such file "/nope"',
  ],
  [
    'permission',
    'permission',
    'ERROR: from element /GstPipeline:pipeline0/GstFileSrc:filesrc0: Could not open file "/proc/1/mem" for reading.\nAdditional debug info:\n../plugins/elements/gstfilesrc.c(557): gst_file_src_start (): /GstPipeline:pipeline0/GstFileSrc:filesrc0:\nsystem error: Permission denied',
  ],
  [
    'unplugged camera',
    'device_missing',
    "ERROR: from element /GstPipeline:pipeline0/GstV4l2Src:v4l2src0: Cannot identify device '/dev/video9'.\nAdditional debug info:\n../sys/v4l2/v4l2_calls.c(608): gst_v4l2_open (): /GstPipeline:pipeline0/GstV4l2Src:v4l2src0:\nsystem error: No such file or directory",
  ],
  [
    'no camera',
    'unsupported',
    "ERROR: from element /GstPipeline:pipeline0/GstV4l2Src:v4l2src0: Error getting capabilities for device '/dev/null': It isn't a v4l2 driver. Check if it is a v4l1 driver.\nAdditional debug info:\n../sys/v4l2/v4l2_calls.c(91): gst_v4l2_get_capabilities (): /GstPipeline:pipeline0/GstV4l2Src:v4l2src0:\nsystem error: Inappropriate ioctl for device",
  ],
  [
    'a camera in use',
    'device_busy',
    "ERROR: from element /GstPipeline:pipeline0/GstV4l2Src:v4l2src0: Could not open device '/dev/video0' for reading and writing.\nAdditional debug info:\n../sys/v4l2/v4l2_calls.c(625): gst_v4l2_open (): /GstPipeline:pipeline0/GstV4l2Src:v4l2src0:\nsystem error: Device or resource busy",
  ],
  ['missing element', 'missing_element', 'WARNING: erroneous pipeline: no element "x264enc"'],
  ['syntax', 'bad_description', 'WARNING: erroneous pipeline: syntax error'],
  ['property', 'bad_description', 'WARNING: erroneous pipeline: no property "foo" in element "videotestsrc"'],
  [
    'caps',
    'bad_description',
    "WARNING: erroneous pipeline: could not link videotestsrc0 to jpegdec0, jpegdec0 can't handle caps video/x-raw, format=(string)Y444",
  ],
  [
    'SRT refused',
    'unreachable',
    'ERROR: from element /GstPipeline:pipeline0/GstSRTSrc:srtsrc0: Could not read from resource.\nAdditional debug info:\n../ext/srt/gstsrtsrc.c(206): gst_srt_src_fill (): /GstPipeline:pipeline0/GstSRTSrc:srtsrc0:\nError on SRT socket: Connection timeout',
  ],
  [
    'SRT passphrase',
    'unauthorized',
    'ERROR: from element /GstPipeline:pipeline0/GstSRTSrc:srtsrc0: Could not read from resource.\nAdditional debug info:\n../ext/srt/gstsrtsrc.c(206): gst_srt_src_fill (): /GstPipeline:pipeline0/GstSRTSrc:srtsrc0:\nFailed to authenticate: Incorrect passphrase',
  ],
  [
    'RTMP refused',
    'unreachable',
    'ERROR: from element /GstPipeline:pipeline0/GstRtmp2Src:rtmp2src0: Connection refused: Could not connect to 127.0.0.1: Connection refused\nAdditional debug info:\n../gst/rtmp2/gstrtmp2src.c(968): send_connect_error (): /GstPipeline:pipeline0/GstRtmp2Src:rtmp2src0',
  ],
  [
    'RTMP name',
    'unreachable',
    'ERROR: from element /GstPipeline:pipeline0/GstRtmp2Src:rtmp2src0: Failed to connect: Error resolving “no.such.host.invalid”: Name or service not known\nAdditional debug info:\n../gst/rtmp2/gstrtmp2src.c(971): send_connect_error (): /GstPipeline:pipeline0/GstRtmp2Src:rtmp2src0:\ndomain g-resolver-error-quark, code 0',
  ],
  [
    'RTMP application that the server has not',
    'source_error',
    "ERROR: from element /GstPipeline:pipeline0/GstRtmp2Src:rtmp2src0: Failed to connect: 'connect' cmd failed: connection closed remotely",
  ],
  [
    'RTMP stream that the server refuses',
    'source_error',
    "ERROR: from element /GstPipeline:pipeline0/GstRtmp2Src:rtmp2src0: Failed to connect: 'play' cmd failed: connection closed remotely",
  ],
  [
    'RTMP to the port of another protocol',
    'source_error',
    'ERROR: from element /GstPipeline:pipeline0/GstRtmp2Src:rtmp2src0: Failed to connect: Short read (want 3073 have 309)',
  ],
  [
    'UDP address of another host',
    'source_error',
    'ERROR: from element /GstPipeline:pipeline0/GstUDPSrc:udpsrc0: Could not get/set settings from/on resource.\nAdditional debug info:\n../gst/udp/gstudpsrc.c(1795): gst_udpsrc_open (): /GstPipeline:pipeline0/GstUDPSrc:udpsrc0:\nbind failed: Error binding to address 10.99.99.99:5000: Cannot assign requested address',
  ],
  [
    'another codec in MPEG-TS',
    'unsupported',
    'WARNING: from element /GstPipeline:pipeline0/GstTSDemux:tracks: Delayed linking failed.\nERROR: from element /GstPipeline:pipeline0/GstTSDemux:tracks: Internal data stream error.\nAdditional debug info:\n../gst/mpegtsdemux/mpegtsbase.c(1759): mpegts_base_loop (): /GstPipeline:pipeline0/GstTSDemux:tracks:\nstreaming stopped, reason not-linked (-1)',
  ],
  [
    'empty file',
    'source_error',
    "ERROR: from element /GstPipeline:pipeline0/GstDecodeBin:decodebin0/GstTypeFindElement:typefind: Stream contains no data.\nAdditional debug info:\n../plugins/elements/gsttypefindelement.c(1154): gst_type_find_element_loop (): /GstPipeline:pipeline0/GstDecodeBin:decodebin0/GstTypeFindElement:typefind:\nCan't typefind empty stream",
  ],
  [
    'RTSP over UDP that is silent',
    'timeout',
    'ERROR: from element /GstPipeline:pipeline0/GstRTSPSrc:tracks: Could not read from resource.\nAdditional debug info:\n../gst/rtsp/gstrtspsrc.c(5876): gst_rtspsrc_reconnect (): /GstPipeline:pipeline0/GstRTSPSrc:tracks:\nCould not receive any UDP packets for 5.0000 seconds, maybe your firewall is blocking it. No other protocols to try.',
  ],
  [
    'H.265 in FLV',
    'unsupported',
    'ERROR: from element /GstPipeline:pipeline0/GstSoupHTTPSrc:flv: Internal data stream error.\nAdditional debug info:\n../libs/gst/base/gstbasesrc.c(3132): gst_base_src_loop (): /GstPipeline:pipeline0/GstSoupHTTPSrc:flv:\nstreaming stopped, reason error (-5)\nERROR: from element /GstPipeline:pipeline0/GstFlvDemux:tracks: Internal data stream error.\nAdditional debug info:\n../gst/flv/gstflvdemux.c(3429): gst_flv_demux_sink_event (): /GstPipeline:pipeline0/GstFlvDemux:tracks:\nGot EOS before any data',
  ],
  [
    'HLS server gone',
    'unreachable',
    'ERROR: from element /GstPipeline:pipeline0/GstParseBin:tracks/GstHLSDemux2:hlsdemux2-0: Internal data stream error.\nAdditional debug info:\n../ext/adaptivedemux2/gstadaptivedemux.c(2913): gst_adaptive_demux_manifest_update_cb (): /GstPipeline:pipeline0/GstParseBin:tracks/GstHLSDemux2:hlsdemux2-0:\nCould not update playlist',
  ],
  [
    'HLS server gone, by the older element',
    'unreachable',
    'ERROR: from element /GstPipeline:pipeline0/GstParseBin:tracks/GstHLSDemux:hlsdemux0: Internal data stream error.: ../libs/gst/base/gstbasesrc.c(3132): gst_base_src_loop (): /GstPipeline:pipeline0/GstParseBin:tracks/GstHLSDemux:hlsdemux0/GstBin:srcbin-src_0/GstSoupHTTPSrc:souphttpsrc1:\nstreaming stopped, reason error (-5)\nAdditional debug info:\nError on stream hlsdemux0:src_0',
  ],
  [
    'format',
    'unsupported',
    'ERROR: from element /GstPipeline:pipeline0/GstVideoTestSrc:videotestsrc0: Internal data stream error.\nAdditional debug info:\n../libs/gst/base/gstbasesrc.c(3132): gst_base_src_loop (): /GstPipeline:pipeline0/GstVideoTestSrc:videotestsrc0:\nstreaming stopped, reason not-negotiated (-4)',
  ],
]

describe('classifyEnd', () => {
  it.each(RECORDED)('classifies %s as %s', (_what, reason, stderr) => {
    const fault = classifyEnd(failed, stderr.split('\n'))
    expect(fault.reason).toBe(reason)
    expect(fault.message).not.toMatch(/\$\d|undefined|GstPipeline/)
  })

  it('reports a missing file as a file, not as a response of a server', () => {
    const lines = ['ERROR: from element /GstPipeline:pipeline0/GstFileSrc:filesrc0: Resource not found.', 'No such file "/nope"']
    expect(classifyEnd(failed, lines).message).toContain('The file does not exist')
  })

  it('names the package of a missing element', () => {
    expect(classifyEnd(failed, ['WARNING: erroneous pipeline: no element "x264enc"']).message).toContain(
      'apt-get install gstreamer1.0-plugins-ugly',
    )
    expect(classifyEnd(failed, ['WARNING: erroneous pipeline: no element "avdec_h264"']).message).toContain('gstreamer1.0-libav')
    expect(classifyEnd(failed, ['WARNING: erroneous pipeline: no element "rtmpsrc"']).message).toContain('gstreamer1.0-plugins-bad')
  })

  it('does not take another error of an HTTP source for a codec', () => {
    const lines = [
      'ERROR: from element /GstPipeline:pipeline0/GstSoupHTTPSrc:souphttpsrc0: Internal data stream error.',
      'streaming stopped, reason error (-5)',
    ]
    expect(classifyEnd(failed, lines).reason).toBe('crashed')
  })

  it('advises no encoding to an advanced pipeline, which has none', () => {
    const lines = [
      'ERROR: from element /GstPipeline:pipeline0/GstVideoTestSrc:a: Internal data stream error.',
      'streaming stopped, reason not-linked (-1)',
    ]
    expect(classifyEnd(failed, lines).message).toContain('Set encoding')
    expect(classifyEnd(failed, lines, true)).toMatchObject({ reason: 'unsupported', message: expect.stringContaining('raw_pipeline') })
  })

  it('marks a source that refuses its transport, so that the other one is used next', () => {
    const lines = [
      'ERROR: from element /GstRTSPSrc:rtspsrc0: No supported stream was found. You might need to allow more transport protocols or',
    ]
    expect(classifyEnd(failed, lines).cause).toBe(TRANSPORT_REFUSED)
  })

  it.each([
    ['an end of the stream', { exitCode: 0, signal: null, missing: false }, 'ended'],
    ['a crash', { exitCode: null, signal: 'SIGSEGV', missing: false }, 'crashed'],
    ['an unknown error', { exitCode: 255, signal: null, missing: false }, 'crashed'],
    ['a missing program', { exitCode: 127, signal: null, missing: true }, 'engine_missing'],
  ] as const)('classifies %s with an empty stderr', (_what, ended, reason) => {
    expect(classifyEnd(ended, []).reason).toBe(reason)
  })

  it('ignores warnings about tracks that do not exist', () => {
    const lines = ['WARNING: from element /GstPipeline:pipeline0/GstTSDemux:tracks: Delayed linking failed.', 'Additional debug info:']
    expect(classifyEnd({ exitCode: 0, signal: null, missing: false }, lines).reason).toBe('ended')
  })

  it('masks credentials in the error of GStreamer', () => {
    const fault = classifyEnd(failed, [
      'ERROR: from element /GstPipeline:pipeline0/GstX:x0: Strange thing at rtsp://admin:hunter2@10.0.0.5/x',
    ])
    expect(fault.message).toContain('rtsp://***@10.0.0.5/x')
    expect(fault.message).not.toContain('hunter2')
  })
})

it.each([
  ['EMFILE', 'LimitNOFILE'],
  ['EAGAIN', 'TasksMax'],
  ['ENOMEM', 'memory'],
  ['EPERM', 'EPERM'],
])('a process that the host does not let start for %s is tried again, with advice', (refused, advice) => {
  const fault = classifyEnd({ exitCode: null, signal: null, missing: false, refused }, [])
  expect(fault).toMatchObject({ reason: 'crashed', permanent: false, message: expect.stringContaining(advice) })
  expect(fault.message).not.toMatch(/null|undefined/)
})

it.each([
  'bwrap: Creating new namespace failed: Resource temporarily unavailable',
  "(gst-launch-1.0:1): GLib-ERROR **: 01:10:46.107: creating thread 'gmain': Error creating thread: Resource temporarily unavailable",
])('a process that may start no thread says which limit to raise: %s', (line) => {
  expect(classifyEnd(failed, [line])).toMatchObject({ reason: 'crashed', message: expect.stringContaining('TasksMax') })
})

it('a process that was killed says that memory may be the reason', () => {
  const fault = classifyEnd({ exitCode: null, signal: 'SIGKILL', missing: false }, [])
  expect(fault).toMatchObject({ reason: 'crashed', message: expect.stringContaining('memory') })
})
