/** Hostile offers, candidates and RTCP of players by WebRTC. web-rtc [SECONDS] */
import { fuzz } from '../helpers/fuzz/fuzz.ts'
import { targetOf } from '../helpers/fuzz/targets.ts'

fuzz(targetOf('web-rtc'))
