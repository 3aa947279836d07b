/** Hostile session descriptions. sdp [SECONDS] */
import { fuzz } from '../helpers/fuzz/fuzz.ts'
import { targetOf } from '../helpers/fuzz/targets.ts'

fuzz(targetOf('sdp'))
