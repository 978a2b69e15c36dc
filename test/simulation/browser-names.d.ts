/** Named in the types of Emscripten, which wasmoon uses; this program has no browser. */
type WebGLRenderingContext = never;
