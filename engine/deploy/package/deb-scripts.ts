import { ENGINE_PROTOCOL } from '../../../lib/engine/protocol.ts'
import { LAYOUT } from '../install/units.ts'

const { apiUnit, engineUnit, apiUser, engineUser, formerUser, configuration, state } = LAYOUT
/** Which protocol the engine speaks that runs since an earlier version. */
const RUNNING_PROTOCOL = `${state}/engine-protocol`

const script = (...lines: readonly string[]): string => ['#!/bin/sh', 'set -e', ...lines, ''].join('\n')

const SYSTEMD_RUNS = '[ -d /run/systemd/system ]'

/**
 * The maintainer scripts (deb-postinst(5), deb-prerm(5), deb-postrm(5)). Users, directories and secrets are those of the command
 * `install`. An upgrade restarts the API alone, which interrupts no stream, and the engine too when the new API could not use it.
 */
export const DPKG_SCRIPTS = {
  postinst: script(
    '[ "$1" = configure ] || exit 0',
    '/usr/bin/video-pipeline-service install --without-units > /dev/null',
    `before=$(cat ${RUNNING_PROTOCOL} 2> /dev/null || true)`,
    `echo ${ENGINE_PROTOCOL} > ${RUNNING_PROTOCOL}`,
    `systemctl enable ${engineUnit} ${apiUnit} > /dev/null 2>&1 || true`,
    `if ${SYSTEMD_RUNS}; then`,
    '  systemctl daemon-reload',
    `  [ "$before" = ${ENGINE_PROTOCOL} ] || systemctl restart ${engineUnit}`,
    `  systemctl start ${engineUnit}`,
    `  systemctl restart ${apiUnit}`,
    'fi',
    `[ -n "$2" ] || echo "The dashboard is at http://127.0.0.1:8080, the API key in ${configuration}/api.env."`,
  ),
  // While the units are there: systemctl finds them by their files.
  prerm: script(
    '[ "$1" = remove ] || exit 0',
    `systemctl disable ${apiUnit} ${engineUnit} > /dev/null 2>&1 || true`,
    `if ${SYSTEMD_RUNS}; then systemctl stop ${apiUnit} ${engineUnit}; fi`,
  ),
  postrm: script(
    'case "$1" in',
    'remove)',
    `  if ${SYSTEMD_RUNS}; then systemctl daemon-reload; fi`,
    '  ;;',
    'purge)',
    `  rm -rf ${configuration} ${state}`,
    `  for user in ${apiUser} ${engineUser} ${formerUser}; do userdel "$user" > /dev/null 2>&1 || true; done`,
    '  ;;',
    'esac',
  ),
} as const
