// What the bundler takes besides scripts.
declare module '*.css';
declare module '*.svg' {
  const text: string;
  export default text;
}
declare module '*.ttf' {
  const file: string;
  export default file;
}
/** Text of a bundled worker (src/build/plugins/workerSource.ts). */
declare module 'worker:*' {
  const source: string;
  export default source;
}
