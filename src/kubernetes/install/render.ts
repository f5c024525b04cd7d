/** The manifests as text, for those who apply them by other means. */
import { stringify } from 'yaml';
import { NAMES, TOKEN_KEYS } from '../names.ts';
import { serverArchive } from './install.ts';
import { manifests } from './manifests/all.ts';
import type { InstallOptions } from './options.ts';

/** YAML documents. The client tokens are not among them: a repository is no place for secrets. */
export async function render(options: InstallOptions, namespace: string): Promise<string> {
  const objects = manifests(options, await serverArchive(), namespace);
  const head = [
    `# Rollout Studio in namespace ${namespace}. Make the client tokens once, before this is applied:`,
    `#   kubectl create secret generic ${NAMES.tokens} -n ${namespace} ` +
      `--from-literal=${TOKEN_KEYS.full}="$(openssl rand -hex 32)" --from-literal=${TOKEN_KEYS.read}="$(openssl ` +
      'rand -hex 32)"',
    '',
  ].join('\n');
  return (
    head + objects.map((object) => `---\n${stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })}`).join('')
  );
}
