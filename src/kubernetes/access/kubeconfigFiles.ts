/** Finds kubeconfig files, and says where it looked: in remote windows of VS Code that is another machine. */
import { existsSync, readdirSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import path from 'node:path';
import { REMOTE_VARIABLE } from '../../common/environment.ts';
import { StudioError } from '../../common/errors.ts';

interface Kubeconfigs {
  /** Instead of KUBECONFIG and `~/.kube/config`. */
  readonly files: readonly string[] | undefined;
  /** The kind of remote window of VS Code. */
  readonly remoteName: string | undefined;
}

let configured: Kubeconfigs | undefined;

/** Sets what the editor knows; programs read the environment. */
export function setKubeconfigs(kubeconfigs: Kubeconfigs): void {
  configured = kubeconfigs;
}

/** Returns the files of the kubeconfig, whether or not they exist. */
export function kubeconfigFiles(kubeconfig?: string, env: NodeJS.ProcessEnv = process.env): string[] {
  if (kubeconfig !== undefined) return [kubeconfig];
  if (configured?.files !== undefined) return [...configured.files];
  const named = (env['KUBECONFIG'] ?? '').split(path.delimiter).filter((file) => file !== '');
  return named.length > 0 ? named : [path.join(homedir(), '.kube', 'config')];
}

interface Place {
  /** Such as `in the dev container`. */
  readonly where: string;
  /** How a kubeconfig gets there. */
  readonly how: string;
}

/** Returns where this program runs, if that may be another machine than the user expects. */
export function placeOf(
  env: NodeJS.ProcessEnv = process.env,
  remoteName: string | undefined = configured?.remoteName ?? env[REMOTE_VARIABLE],
): Place | undefined {
  const isCodespace = remoteName === 'codespaces' || env['CODESPACES'] === 'true';
  if (isCodespace)
    return { where: 'in the codespace', how: 'Copy it there, or fetch it there from your cluster’s provider.' };
  const isContainer =
    remoteName === 'dev-container' || remoteName === 'attached-container' || env['REMOTE_CONTAINERS'] === 'true';
  if (isContainer)
    return {
      where: remoteName === 'attached-container' ? 'in the container' : 'in the dev container',
      how:
        'Mount that of your machine, with "mounts": ["source=${localEnv:HOME}${localEnv:USERPROFILE}/.kube,target=' +
        `${homedir()}/.kube,type=bind"] in devcontainer.json, or copy it there.`,
    };
  const distribution = env['WSL_DISTRO_NAME'];
  if (remoteName === 'wsl' || distribution !== undefined) {
    const windows = windowsKubeconfig();
    return {
      where: `in WSL${distribution === undefined ? '' : ` (${distribution})`}`,
      how: windows === undefined ? 'Copy that of Windows there.' : `That of Windows is ${windows}.`,
    };
  }
  if (remoteName === 'ssh-remote' || env['SSH_CONNECTION'] !== undefined)
    return { where: `on the SSH host ${hostname()}`, how: 'Copy it there.' };
  return undefined;
}

/** Returns the error for files that do not exist. */
export function noKubeconfig(files: readonly string[], place: Place | undefined = placeOf()): StudioError {
  const verb = files.length === 1 ? 'does' : 'do';
  const name = 'name it with --kubeconfig or KUBECONFIG, in VS Code with the setting rollout.kubeconfig';
  return new StudioError(
    'config',
    `No kubeconfig found${place === undefined ? '' : ` ${place.where}`}: ${files.join(', ')} ${verb} not exist.`,
    {
      hint:
        place === undefined
          ? `Get one from your cluster (most providers have a command for it), or ${name}.`
          : `${place.how} Or ${name}.`,
    },
  );
}

/** Returns the kubeconfig of the user of Windows, if it is the only one. */
function windowsKubeconfig(users = '/mnt/c/Users'): string | undefined {
  try {
    const files = readdirSync(users).map((user) => path.join(users, user, '.kube', 'config'));
    const found = files.filter((file) => existsSync(file));
    return found.length === 1 ? found[0] : undefined;
  } catch {
    return undefined; // no drive of Windows is mounted
  }
}
