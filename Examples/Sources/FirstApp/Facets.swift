import Countersign

/// Prints the server's verdict on this app, and returns `true` if the server accepts the app's answers. Call this
/// function at the app's start during development, before anybody enrols.
func checkFacet(with client: MobileAuthenticationClient) async -> Bool {
    let check = await client.checkServer()
    if check.finding == .facetNotListed {
        print("This app is \(check.facetID). The server lists: \(check.trustedFacets.joined(separator: ", "))")
    } else {
        print(check)
    }
    return check.finding == .trusted
}
