/** Renders the manifests as text, for people who apply them by other means. */
import { stringify } from 'yaml';
import { NAMES, TOKEN_KEYS } from '../names.ts';
import { serverArchive } from './install.ts';
import { manifests } from './manifests/all.ts';
import type { InstallOptions } from './options.ts';

/** Returns YAML documents, without the client tokens: secrets do not belong in a repository. */
export async function render(options: InstallOptions, namespace: string): Promise<string> {
  const objects = manifests(options, await serverArchive(), namespace);
  const head = [
    `# Rollout Studio in namespace ${namespace}. Create the client tokens once, before you apply this:`,
    `#   kubectl create secret generic ${NAMES.tokens} -n ${namespace} ` +
      `--from-literal=${TOKEN_KEYS.full}="$(openssl rand -hex 32)" --from-literal=${TOKEN_KEYS.read}="$(openssl ` +
      'rand -hex 32)"',
    '',
  ].join('\n');
  return (
    head + objects.map((object) => `---\n${stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })}`).join('')
  );
}
