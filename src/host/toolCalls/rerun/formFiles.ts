/** Provides call forms as in-memory files that can be edited. */
import * as vscode from 'vscode';

interface FormFile {
  bytes: Uint8Array;
  readonly created: number;
  changed: number;
}

export class FormFiles implements vscode.FileSystemProvider {
  readonly #files = new Map<string, FormFile>();
  readonly #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.#changed.event;

  write(uri: vscode.Uri, text: string): void {
    const now = Date.now();
    const existing = this.#files.get(uri.path);
    this.#files.set(uri.path, {
      bytes: new TextEncoder().encode(text),
      created: existing?.created ?? now,
      changed: Math.max(now, (existing?.changed ?? 0) + 1),
    });
    if (existing !== undefined) this.#changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
  }

  remove(uri: vscode.Uri): void {
    this.#files.delete(uri.path);
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined); // no external changes
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { bytes, created, changed } = this.#file(uri);
    return { type: vscode.FileType.File, ctime: created, mtime: changed, size: bytes.length };
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return this.#file(uri).bytes;
  }

  writeFile(uri: vscode.Uri, content: Uint8Array): void {
    const file = this.#file(uri);
    file.bytes = content;
    file.changed = Date.now();
    this.#changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    this.remove(uri);
  }

  rename(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  #file(uri: vscode.Uri): FormFile {
    const file = this.#files.get(uri.path);
    if (file === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return file;
  }
}
