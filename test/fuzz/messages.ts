/** Hostile RTSP messages and reason phrases. messages [SECONDS] */
import { fuzz } from '../helpers/fuzz/fuzz.ts'
import { targetOf } from '../helpers/fuzz/targets.ts'

fuzz(targetOf('messages'))
