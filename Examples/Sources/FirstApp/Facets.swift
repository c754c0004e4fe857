import Countersign

/// Says before anybody enrols whether the server takes this app's answers. Call it at the app's start while you develop.
func checkFacet(with client: MobileAuthenticationClient) async -> Bool {
    let check = await client.checkServer()
    if check.finding == .facetNotListed {
        print("This app is \(check.facetID). The server lists: \(check.trustedFacets.joined(separator: ", "))")
    } else {
        print(check)
    }
    return check.finding == .trusted
}
