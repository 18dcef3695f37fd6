// Package caller says who calls the executor, from the OpenID Connect token of the request.
//
// IAM checks the token's signature: a private Cloud Run service refuses what is not signed by Google before any code runs, and
// then hands the request on with the signature replaced by the marker SIGNATURE_REMOVED_BY_GOOGLE. So this package cannot check
// a signature and does not try: it checks the claims. It is the second lock, which holds when IAM grants too much (any account
// that may invoke the service is let in by IAM, only the right one by the claims), and it is worth nothing on a service that
// lets everybody in: there the envelope's MAC is the only lock.
//
// Cloud Run checks X-Serverless-Authorization instead of Authorization when a request has both, and then passes Authorization on
// unchecked. So this package never reads Authorization beside the other.
package caller
