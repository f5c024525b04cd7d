import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

// Named `exports`: ES modules that import it find no others.

/** The log files behind the channels of the Output panel are written through it. */
const SPDLOG = `'use strict';
const fs = require('node:fs');
const path = require('node:path');
const NAMES = ['trace', 'debug', 'info', 'warning', 'error', 'critical'];
class Logger {
  constructor(kind, name, file) {
    this.level = 2;
    this.plain = false;
    fs.mkdirSync(path.dirname(file), { recursive: true });
    this.fd = fs.openSync(file, 'a');
  }
  line(level, text) {
    if (this.fd === undefined || level < this.level) return;
    const time = new Date().toISOString().replace('T', ' ').replace('Z', '');
    fs.writeSync(this.fd, this.plain ? text : time + ' [' + NAMES[level] + '] ' + text + '\\n');
  }
  trace(text) { this.line(0, text); }
  debug(text) { this.line(1, text); }
  info(text) { this.line(2, text); }
  warn(text) { this.line(3, text); }
  error(text) { this.line(4, text); }
  critical(text) { this.line(5, text); }
  getLevel() { return this.level; }
  setLevel(level) { this.level = level; }
  setPattern() { this.plain = false; }
  clearFormatters() { this.plain = true; }
  flush() {}
  drop() {
    if (this.fd !== undefined) fs.closeSync(this.fd);
    this.fd = undefined;
  }
}
const create = async (name, file) => new Logger('rotating', name, file);
exports.version = 0;
exports.Logger = Logger;
exports.setLevel = () => {};
exports.setFlushOn = () => {};
exports.createRotatingLogger = create;
exports.createAsyncRotatingLogger = create;
`;
const WATCHDOG = 'exports.start = () => {};\nexports.exit = (code) => process.exit(code);\n';
const COPY =
  "const fs = require('node:fs');\nexports.cp = fs.promises.cp;\nexports.copyFile = " +
  'fs.promises.copyFile;\nexports.isCloneSupported = () => false;\nexports.constants = fs.constants;\n';

/** Writes JavaScript in place of the native modules that a server requires, and links the system's ripgrep. */
export async function writeStandIns(modules: string, ripgrep: string): Promise<void> {
  const search = `exports.rgPath = ${JSON.stringify(ripgrep)};\n`;
  const all = {
    '@vscode/spdlog': SPDLOG,
    '@vscode/native-watchdog': WATCHDOG,
    '@vscode/fs-copyfile': COPY,
    '@vscode/ripgrep': search,
    '@vscode/ripgrep-universal': search,
  };
  for (const [name, text] of Object.entries(all)) {
    const folder = path.join(modules, name);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'package.json'), JSON.stringify({ name, version: '0.0.0', main: 'index.js' }));
    await writeFile(path.join(folder, 'index.js'), text);
  }
}
