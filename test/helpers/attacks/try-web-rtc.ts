/** One attack of web-rtc-attacks.ts, in a process of its own: try-web-rtc.ts NAME MILLISECONDS WHEP_URL HOST PORT. Prints how often it did. */
import { WEB_RTC_ATTACKS } from './web-rtc-attacks.ts'

const [name = '', ms = '', whep = '', host = '', port = ''] = process.argv.slice(2)
const attack = WEB_RTC_ATTACKS[name]
if (attack === undefined) throw new Error(`There is no attack "${name}"`)
console.log(await attack({ whep, host, port: Number(port) }, Number(ms)))
process.exit()
