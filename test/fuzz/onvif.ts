/** Hostile answers of cameras by WS-Discovery and ONVIF. onvif [SECONDS] */
import { fuzz } from '../helpers/fuzz/fuzz.ts'
import { targetOf } from '../helpers/fuzz/targets.ts'

fuzz(targetOf('onvif'))
