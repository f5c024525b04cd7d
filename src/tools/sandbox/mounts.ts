/**
 * The file system of a sandbox on Linux. Its folders and mount points are created here, and its mounts are written to
 * tables for `mount -a`, because a process for each of them would cost more than all they do.
 */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isBelow } from './folders.ts';

/** What programs see at `to`: `from`, with or without changing it, a copy of it that they may change, or nothing. */
export interface Mount {
  readonly what: 'link' | 'write' | 'read' | 'copy' | 'hide';
  /** A file or folder, or the text of a link. Unused by `hide`. */
  readonly from: string;
  readonly to: string;
}

interface Entry {
  readonly to: string;
  readonly source: string;
  readonly type: string;
  readonly options: string;
  /** Other names of `to`. */
  readonly aliases: readonly string[];
  /** `none`: what is there cannot be seen. */
  readonly access: 'write' | 'read' | 'none';
  /** The new, empty folder that it shows, in which mount points must be created. */
  readonly own?: string;
}

interface HostMount {
  readonly point: string;
  readonly options: readonly string[];
}

/** Options that a user namespace must not remove from a mount. */
const LOCKED = ['nosuid', 'nodev', 'noexec'];

export class MountPlan {
  /** The folder that becomes the root, in memory. */
  readonly root: string;
  /** The folders, mount points, and links that are copied to the root. */
  readonly tree: string;
  readonly #scratch: string;
  readonly #host: readonly HostMount[];
  /** In the order of mounting; later ones cover earlier ones. */
  #entries: Entry[] = [];
  #hidden = 0;

  private constructor(scratch: string, host: readonly HostMount[]) {
    this.#scratch = scratch;
    this.#host = host;
    this.root = path.join(scratch, 'root');
    this.tree = path.join(scratch, 'tree');
  }

  /** Creates the root in `scratch`, a folder that exists, and whose path has no links. */
  static async create(scratch: string): Promise<MountPlan> {
    const plan = new MountPlan(scratch, mountsIn(await readFile('/proc/self/mountinfo', 'utf8')));
    for (const folder of [plan.root, plan.tree]) await mkdir(folder, { mode: 0o755 });
    plan.#push({ ...{ to: '/', source: '', type: 'tmpfs', options: '' }, aliases: [], access: 'read', own: plan.tree });
    return plan;
  }

  /** Adds a mount whose `from` exists. */
  async add({ what, from, to: named }: Mount): Promise<void> {
    const to = path.resolve(named); // without a slash at its end
    switch (what) {
      case 'link':
        await symlink(from, path.join(this.tree, to));
        return;
      case 'hide':
        await this.#hide(to);
        return;
      case 'copy': {
        await this.#createPoint(to, true);
        const [changes, work] = [`${from}.changes`, `${from}.work`];
        for (const folder of [changes, work]) await mkdir(folder);
        const options = `userxattr,lowerdir=${to},upperdir=${changes},workdir=${work}`;
        this.#push({ to, source: 'sandbox', type: 'overlay', options, aliases: [], access: 'write' });
        return;
      }
      default:
        await this.#createPoint(to, isFolder(from));
        this.#bind(to, from, what, isBelow(this.#scratch, from) ? from : undefined);
    }
  }

  /** Adds a file system of the kernel. */
  async addKernel(to: string, type: string, options: string): Promise<void> {
    await this.#createPoint(to, true);
    this.#push({ to, source: 'sandbox', type, options, aliases: [], access: 'write' });
  }

  /** Makes a part of a file system of the kernel read-only. */
  protect(to: string): void {
    this.#push({
      ...{ to, source: path.join(this.root, to), type: 'none', options: 'bind,ro' },
      aliases: [],
      access: 'read',
    });
  }

  /**
   * Writes the tables. Returns pairs for the script: `table` and a file for `mount -a`, or `overlay` and its options
   * and mount point, which may fail.
   */
  async write(): Promise<string[]> {
    const commands: string[] = [];
    let table = '';
    const flush = async (): Promise<void> => {
      const file = path.join(this.#scratch, `mounts-${commands.length}`);
      await writeFile(file, table, { mode: 0o600 });
      commands.push('table', file, '');
      table = '';
    };
    for (const { to, source, type, options } of this.#entries.filter(({ to }) => to !== '/')) {
      const point = path.join(this.root, to);
      if (type === 'overlay') {
        await flush();
        commands.push('overlay', options, point);
      } else table += `${[source, point, type, options].map(escape).join(' ')} 0 0\n`;
    }
    await flush();
    return commands;
  }

  /**
   * Returns the mount points that programs could write to, but must not: the root, and file systems that are mounted
   * below what they may only read. `mountInfo` is that of the sandbox before its root changes.
   */
  writable(mountInfo: string): string[] {
    return mountsIn(mountInfo)
      .filter(({ point, options }) => isBelow(this.root, point) && !options.includes('ro'))
      .filter(({ point }) => {
        const at = path.join('/', path.relative(this.root, point));
        const covers = ({ to, aliases }: Entry): boolean => [to, ...aliases].some((each) => isBelow(each, at));
        const cover = this.#entries.findLast(covers);
        // What a hidden folder covers, e.g. this root in a folder that may be changed, cannot be reached.
        return cover?.access === 'read' || (cover?.access === 'none' && cover.to === at);
      })
      .map(({ point }) => point);
  }

  #bind(to: string, source: string, access: Entry['access'], own?: string): void {
    const options = ['rbind', ...(access === 'read' ? ['ro', ...this.#locked(source)] : [])].join();
    this.#push({
      ...{ to, source, type: 'none', options, access },
      aliases: access === 'write' && existsSync(to) ? [realpathSync(to)] : [],
      ...(own === undefined ? {} : { own }),
    });
  }

  /** `mount -a` leaves out what seems to be mounted, as a folder that may be read, and then also changed, would. */
  #push(entry: Entry): void {
    this.#entries = [...this.#entries.filter(({ to }) => to !== entry.to), entry];
  }

  async #hide(to: string): Promise<void> {
    const cover = this.#entries.findLast((entry) => isBelow(entry.to, to));
    if (cover === undefined || (cover.own !== undefined && cover.to !== to)) return; // nothing there
    if (isFolder(to)) {
      // In a folder of the root that a mount covers in the end.
      const empty = `proc/hidden-${this.#hidden++}`;
      const own = path.join(this.tree, empty);
      await mkdir(own, { recursive: true, mode: 0o755 });
      this.#push({
        ...{ to, source: path.join(this.root, empty), type: 'none', options: 'rbind,ro' },
        ...{ aliases: [], access: 'none', own },
      });
    } else this.#bind(to, '/dev/null', 'write');
  }

  /** Creates a mount point if what is there is new; other folders have it. */
  async #createPoint(to: string, folder: boolean): Promise<void> {
    const cover = this.#entries.findLast((entry) => isBelow(entry.to, path.dirname(to)));
    if (cover?.own === undefined) return;
    const point = path.join(cover.own, path.relative(cover.to, to));
    await mkdir(folder ? point : path.dirname(point), { recursive: true, mode: 0o755 });
    if (!folder && !existsSync(point)) await writeFile(point, '');
  }

  #locked(source: string): string[] {
    const real = realpathSync(source);
    const mounts = this.#host.filter(({ point }) => isBelow(point, real));
    const nearest = mounts.reduce<HostMount | undefined>(
      (best, mount) => (best === undefined || mount.point.length >= best.point.length ? mount : best),
      undefined,
    );
    return LOCKED.filter((option) => nearest?.options.includes(option) === true);
  }
}

function isFolder(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() === true;
}

function mountsIn(mountInfo: string): HostMount[] {
  return mountInfo.split('\n').flatMap((line) => {
    const [, , , , point, options] = line.split(' ');
    return point === undefined || options === undefined
      ? []
      : [{ point: unescape(point), options: options.split(',') }];
  });
}

/** Tables of mounts have octal codes for spaces and backslashes. */
function escape(text: string): string {
  return text.replace(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

function unescape(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}
