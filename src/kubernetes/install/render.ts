/** Renders the manifests as text, for people who apply them by other means. */
import { stringify } from 'yaml';
import { NAMES, TOKEN_KEYS } from '../names.ts';
import { OWN_KEYS } from '../tls/authority.ts';
import { serverArchive } from './install.ts';
import { manifests } from './manifests/all.ts';
import type { InstallOptions } from './options.ts';

/** Returns YAML documents, without client tokens and authority: secrets do not belong in a repository. */
export async function render(options: InstallOptions, namespace: string): Promise<string> {
  const objects = manifests(options, await serverArchive(), namespace);
  const head = [
    `# Rollout Studio in namespace ${namespace}. Create these Secrets once, before you apply this. Without the second,`,
    '# workers connect without TLS.',
    `#   kubectl create secret generic ${NAMES.tokens} -n ${namespace} ` +
      `--from-literal=${TOKEN_KEYS.full}="$(openssl rand -hex 32)" --from-literal=${TOKEN_KEYS.read}="$(openssl ` +
      'rand -hex 32)"',
    '#   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 ' +
      `-subj "/CN=Rollout Studio" -keyout ${OWN_KEYS.key} -out ${OWN_KEYS.cert}`,
    `#   kubectl create secret generic ${NAMES.authority} -n ${namespace} --from-file=${OWN_KEYS.cert} ` +
      `--from-file=${OWN_KEYS.key} && rm ${OWN_KEYS.key}`,
    '',
  ].join('\n');
  return (
    head + objects.map((object) => `---\n${stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })}`).join('')
  );
}
