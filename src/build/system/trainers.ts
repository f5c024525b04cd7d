/**
 * The suite of trainers: a virtual environment for each, because their pins contradict each other. All of them use one
 * torch, which is large. They are made once, in the cache folder of the user.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PYTHONS } from '../../tools/processes/processTree.ts';
import { interpreterOf } from '../../tools/python/worldPython.ts';

export const TRAINERS = 'trainers';

export type Trainer = 'trl' | 'swift' | 'verl' | 'nemo-gym';

interface Environment {
  /** Installed without their dependencies: the list has those that the tests import and torch's environment lacks. */
  readonly packages: readonly string[];
  /** Fails if a package is missing. */
  readonly imports: string;
}

const DATASETS = [
  'accelerate==1.15.0',
  'multiprocess==0.70.19',
  'pandas==3.1.1',
  'pyarrow==26.0.1',
  'python-dateutil==4.0.0',
  'six==1.17.0',
  'xxhash==4.1.0',
];
const RAY = ['msgpack==1.2.4', 'ray==2.60.0', 'orjson==3.13.0'];
const HYDRA = ['antlr4-python3-runtime==4.9.3', 'hydra-core==1.3.8', 'omegaconf==2.4.0'];

const ENVIRONMENTS: Readonly<Record<Trainer, Environment>> = {
  trl: {
    packages: ['trl==1.16.0', 'datasets==5.2.0', ...DATASETS],
    imports: 'from trl import GRPOTrainer, SFTTrainer',
  },
  swift: {
    packages: [
      ...['ms-swift==4.6.0', 'trl==0.29.1', 'peft==0.20.0', 'datasets==4.8.4', ...DATASETS],
      ...['addict==2.4.0', 'binpacking==2.0.1', 'dacite==1.9.2', 'importlib-metadata==10.2.0', 'zipp==4.1.2'],
      ...['json-repair==0.64.6', 'modelscope==1.40.2', 'modelscope-hub==0.5.1', 'simplejson==4.3.0'],
      'sortedcontainers==2.4.0',
    ],
    imports: 'import swift.rollout.multi_turn, swift.rl_core.advantage, swift.rlhf_trainers.utils',
  },
  verl: {
    packages: [
      ...['verl==0.9.1', 'datasets==5.2.0', 'tensordict==0.10.0', 'pyvers==0.2.3', 'torchdata==0.11.0'],
      ...['codetiming==1.4.0', 'peft==0.20.0', 'TransferQueue==0.1.11', ...DATASETS, ...RAY, ...HYDRA],
    ],
    imports: 'import verl.experimental.agent_loop.agent_loop, verl.trainer.ppo.core_algos',
  },
  'nemo-gym': {
    packages: [
      ...['nemo-gym==0.4.0', 'openai==2.7.2', 'distro==1.9.0', ...RAY, ...HYDRA, 'asttokens==3.0.2'],
      ...['devtools==0.13.0', 'executing==2.3.0', 'gprof2dot==2025.4.14', 'itsdangerous==2.2.0', 'pandas==3.1.1'],
      ...['platformdirs==4.14.8', 'pydot==4.0.1', 'python-dateutil==4.0.0', 'six==1.17.0', 'wandb==0.31.0'],
      ...['xxhash==4.1.0', 'yappi==1.7.6'],
    ],
    imports: 'import nemo_gym.openai_utils, nemo_gym.base_resources_server, nemo_gym.rollout_collection',
  },
};

/** What all of them share, installed with its dependencies if the user names no environment that has it. */
const TORCH = [
  ...['torch==2.13.0', 'transformers==5.19.0', 'aiohttp', 'cachetools', 'cloudpickle', 'cryptography', 'dill'],
  ...['einops', 'fastapi', 'httpx', 'jsonschema', 'msgspec', 'openai', 'pillow', 'protobuf', 'psutil'],
  ...['python-dotenv', 'pyzmq', 'requests', 'sentencepiece', 'sentry-sdk', 'tiktoken', 'uvicorn'],
];
const TORCH_VARIABLE = 'ROLLOUT_TEST_TORCH';
/**
 * Their classes load in versions of Python that they do not name. Packages that pip resolves keep to their versions:
 * it would choose ones that cannot even be built.
 */
const UNRESOLVED = ['--no-deps', '--ignore-requires-python'];
/** verl ends before 3.13. NeMo Gym asks for 3.12, and its classes load in 3.11 too. */
const SUITABLE = 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 13))';
const LOCK_MS = 1_200_000;
const INSTALL_MS = 1_200_000;

/** Returns why the suite cannot run, after it installed what it needs; undefined if it can. */
export function missingTrainers(): string | undefined {
  try {
    for (const trainer of Object.keys(ENVIRONMENTS) as Trainer[]) trainerPython(trainer);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Returns the interpreter of a trainer, and makes its environment first if it is not there. Throws what is missing. */
export function trainerPython(trainer: Trainer): string {
  const cache = path.join(process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache'), 'rollout-trainers');
  mkdirSync(cache, { recursive: true });
  const base = PYTHONS.find((python) => spawnSync(python, ['-c', SUITABLE]).status === 0);
  if (base === undefined) throw new Error('it needs Python 3.11 or 3.12 with venv.');
  const torch = process.env[TORCH_VARIABLE] ?? locked(cache, 'torch', () => madeTorch(cache, base));
  return locked(cache, trainer, () => {
    const { packages, imports } = ENVIRONMENTS[trainer];
    const python = made(cache, trainer, base, { packages, options: UNRESOLVED, paths: [torch] });
    const checked = path.join(path.dirname(path.dirname(python)), 'checked');
    if (existsSync(checked)) return python;
    const found = spawnSync(python, ['-c', imports], { encoding: 'utf8' });
    if (found.status !== 0) throw new Error(`${trainer} cannot be imported: ${lastLine(found.stderr)}`);
    writeFileSync(checked, '');
    return python;
  });
}

/** Files that run at the same time wait for each other. */
function locked<T>(cache: string, name: string, action: () => T): T {
  // A database as a lock: it is free again when the process that holds it ends, however that happens.
  const lock = new DatabaseSync(path.join(cache, `${name}.lock`));
  try {
    lock.exec(`PRAGMA busy_timeout = ${LOCK_MS}; BEGIN EXCLUSIVE`);
    return action();
  } finally {
    lock.close();
  }
}

/** Returns the packages of the environment with torch. */
function madeTorch(cache: string, base: string): string {
  return packagesOf(made(cache, 'torch', base, { packages: TORCH, options: [], paths: [] }));
}

function packagesOf(python: string): string {
  const asked = spawnSync(python, ['-c', "import sysconfig; print(sysconfig.get_path('purelib'))"], {
    encoding: 'utf8',
  });
  return asked.stdout.trim();
}

interface Wanted {
  readonly packages: readonly string[];
  readonly options: readonly string[];
  /** Folders of packages that are seen too. */
  readonly paths: readonly string[];
}

/** Makes an environment unless it is there, and returns its interpreter. Another list gets another folder. */
function made(cache: string, name: string, base: string, { packages, options, paths }: Wanted): string {
  const list = [...packages, ...options, ...paths].join('\n');
  const folder = path.join(cache, `${name}-${createHash('sha256').update(list).digest('hex').slice(0, 8)}`);
  const python = interpreterOf(folder);
  const ready = path.join(folder, 'ready');
  if (existsSync(ready)) return python;
  console.log(`Installing ${packages[0] ?? name} and ${packages.length - 1} packages in ${folder}`);
  step(base, ['-m', 'venv', '--clear', folder], `no virtual environment can be made in ${folder}`);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input'];
  step(
    python,
    [...pip, ...options, ...packages],
    `the packages of ${name} cannot be installed, it needs a network and the package index of pip`,
  );
  writeFileSync(path.join(packagesOf(python), 'shared.pth'), paths.map((one) => `${one}\n`).join(''));
  if (paths.length > 0) step(python, ['-c', 'import torch, transformers'], `${paths.join()} has no torch that works`);
  writeFileSync(ready, list);
  return python;
}

function step(file: string, args: readonly string[], failure: string): void {
  const ran = spawnSync(file, args, { encoding: 'utf8', timeout: INSTALL_MS });
  if (ran.status !== 0) throw new Error(`${failure}: ${lastLine(ran.stderr)}`);
}

/** Of what a program printed, its errors if it marked them, as pip does. */
function lastLine(text: string): string {
  const lines = text.trim().split('\n');
  return lines.find((line) => line.startsWith('ERROR: ')) ?? lines.at(-1) ?? '';
}
