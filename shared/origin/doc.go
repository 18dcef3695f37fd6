// Package origin is the way to the sources of collapsed reads: which URL and
// headers a read leads to, what makes two reads the same, and what an answer
// means for those who share it.
//
// What holds:
//
//  1. No way out. A read goes to the configured scheme, host and port, below
//     the configured path, whatever its own path, its encoding or a redirect
//     says.
//  2. Nothing untold. The origin sees of a client's request the path, the
//     query, the headers that the configuration lists under vary, and a
//     credential; all of these are in the flight key. So whoever shares an
//     answer would have got the same one. Cookie and Range are never sent.
//  3. A credential tells answers apart. The configured one wins over the
//     client's, which then is not sent at all.
//  4. Whole or not at all. An answer is shared only once its last byte has
//     come; what is too long, or private, is passed on as it comes.
//  5. No query and no credential is in an error.
package origin
