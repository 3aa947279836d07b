import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** 90 s of 720p25 H.264 at 4 Mbit/s in MPEG-TS, with a key frame every 2 s; made once. */
export const fourMegabits = (): string => {
  const file = join(tmpdir(), 'video-pipeline-bench-720p25-4mbit-90s.ts')
  if (existsSync(file)) return file
  const source = 'testsrc2=size=1280x720:rate=25,noise=alls=20:allf=t'
  const coding = '-t 15 -c:v libx264 -preset ultrafast -tune zerolatency -b:v 4M -minrate 4M -maxrate 4M -bufsize 2M -g 50 -pix_fmt yuv420p'
  const part = `${file}.part`
  execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', source, ...coding.split(' '), '-f', 'mpegts', '-y', part])
  execFileSync('ffmpeg', ['-v', 'error', '-stream_loop', '5', '-i', part, '-c', 'copy', '-f', 'mpegts', '-y', file])
  return file
}
