import { describe, expect, it } from 'vitest'
import { isOpenListener, isSentByEngine, pushLine } from '../../../../engine/push/line.ts'

const H264 = { codec: 'H264', receiver: '10.0.0.9', outputHost: '0.0.0.0' }
const lineOf = (uri: string, media = H264): string => pushLine(uri, media).args.join(' ')

describe('the line of a push', () => {
  it('sends MPEG-TS over SRT and lets the engine connect again', () => {
    const uri = 'srt://10.0.0.9:9000?passphrase=correct-horse&latency=200'
    expect(lineOf(uri)).toBe(
      `-- fdsrc fd=0 blocksize=65536 ! tsparse ! progressreport name=progress update-freq=1 do-query=false format=buffers ! srtsink uri=${uri} auto-reconnect=false sync=false async=false`,
    )
    expect(pushLine(uri, H264)).toMatchObject({ listens: false, catchUp: true })
  })

  it('listens where the outputs do when the address of a listener has no host', () => {
    expect(lineOf('srt://:9000?mode=listener')).toContain('srtsink uri=srt://0.0.0.0:9000?mode=listener ')
    expect(lineOf('srt://:9000?mode=listener', { ...H264, outputHost: '::1' })).toContain('srtsink uri=srt://[::1]:9000?mode=listener ')
    expect(lineOf('srt://10.0.0.1:9000?mode=listener')).toContain('srtsink uri=srt://10.0.0.1:9000?mode=listener ')
    expect(pushLine('srt://:9000?mode=listener', H264).listens).toBe(true)
  })

  it('knows a listener that lets anybody connect', () => {
    const uris = ['srt://:9000?mode=listener', 'SRT://:9000?mode=listener&passphrase=', 'srt://:9000?passphrase=long-enough&mode=listener']
    expect([...uris, 'srt://h:9000', 'udp://h:9000?mode=listener'].map(isOpenListener)).toEqual([true, true, false, false, false])
  })

  it('has KLV in its MPEG-TS where that may begin later', () => {
    const uris = ['srt://10.0.0.9:9000', 'udp://10.0.0.9:5000', 'rtmp://10.0.0.9/live/a', 'rtmps://10.0.0.9/live/a']
    expect(uris.map((uri) => pushLine(uri, H264).klv)).toEqual([true, true, false, false])
  })

  it('may use the sockets of the host for names of the local network alone', () => {
    const uris = [
      'srt://gcs.local:9000',
      'rtmp://GCS.LOCAL./live/a',
      'udp://10.0.0.9:5000',
      'srt://local:9000',
      'rtmp://a.local.example/a/b',
    ]
    expect(uris.map((uri) => pushLine(uri, H264).reach.localSockets)).toEqual([true, true, false, false, false])
  })

  it('sends datagrams of seven packets over UDP, paced, and within the own network', () => {
    expect(lineOf('udp://10.0.0.9:5000')).toMatch(/tsparse alignment=7 .* udpsink host=10\.0\.0\.9 port=5000 ttl-mc=1 .*max-bitrate=\d+/)
    expect(lineOf('udp://group.example:5000?ttl=8&iface=eth0', { ...H264, receiver: '239.1.1.1' })).toContain(
      'host=239.1.1.1 port=5000 ttl-mc=8 multicast-iface=eth0 ',
    )
    expect(pushLine('udp://10.0.0.9:5000', H264).catchUp).toBe(false)
  })

  it('sends the FLV of the engine over RTMP, with the credentials beside the address', () => {
    const line = lineOf('rtmp://user:p%40ss@10.0.0.9/live/key?a=b')
    expect(line).toMatch(
      /^-- fdsrc fd=0 blocksize=65536 ! gdpdepay ! progressreport .* rtmp2sink location=rtmp:\/\/10\.0\.0\.9\/live\/key\?a=b /,
    )
    expect(line).toContain('username=user password=p@ss')
  })

  it('is none over RTSP, which the engine itself sends', () => {
    expect(['rtsp://h/', 'RTSPS://h/', 'srt://h:1', 'rtmp://h/a/b'].map(isSentByEngine)).toEqual([true, true, false, false])
    expect(() => pushLine('rtsp://h/', H264)).toThrow('not supported')
  })

  it('keeps what an address may hold from becoming another element', () => {
    expect(lineOf('srt://10.0.0.9:9000?streamid=a!filesink')).toContain('uri=srt://10.0.0.9:9000?streamid=a!filesink ')
    expect(pushLine('rtmp://10.0.0.9/a%20!%20b/c', H264).args).toContain('location=rtmp://10.0.0.9/a%20!%20b/c')
  })
})
