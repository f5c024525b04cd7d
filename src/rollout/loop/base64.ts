/** Converts bytes to Base64 without Node APIs. */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  // In chunks, because the number of arguments of a call is limited.
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
}

/** Converts float32 numbers to Base64 of their little-endian bytes. */
export function floatsToBase64(values: Float32Array): string {
  const view = new DataView(new ArrayBuffer(values.length * 4));
  values.forEach((value, index) => view.setFloat32(index * 4, value, true));
  return toBase64(new Uint8Array(view.buffer));
}
