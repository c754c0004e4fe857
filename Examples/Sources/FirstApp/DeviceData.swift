import Countersign

/// Tells the servers of all accounts the token that the push service has given to the app.
func pushTokenArrived(_ token: String, at client: MobileAuthenticationClient) async throws {
    try await client.operations.deviceInformationChange.fcmRegistrationToken(token).execute()
}

/// Gives the device another name. Returns a sentence for the person.
func rename(_ client: MobileAuthenticationClient, to name: String) async throws -> String {
    do {
        try await client.operations.deviceInformationChange.name(name).execute()
        return "This phone is now called \(name)."
    } catch let error as OperationError where error.code == .nameAlreadyExists {
        return "Another phone of yours is called \(name). Choose another name."
    }
}

/// Compares the device with its servers at the app's start, and repairs everything that needs no person. Returns the
/// differences that are left.
func repairAtStart(_ client: MobileAuthenticationClient) async throws -> [DeviceInformationMismatch] {
    let found = try await client.operations.deviceInformationCheck.execute().mismatches
    guard !found.isEmpty else { return [] }
    let result = try await client.operations.deviceInformationSync.mismatches(found).execute()
    return result.failures.compactMap(\.mismatch)
}

/// Repairs device keys that a server does not accept any more: the person authenticates once.
func repairKeys(
    _ client: MobileAuthenticationClient, _ left: [DeviceInformationMismatch],
    _ selector: some AuthenticatorSelector, _ pinScreen: some PinUserVerifier
) async throws {
    _ = try await client.operations.deviceInformationSync
        .mismatches(left.filter { $0.kind == .deviceKeys })
        .authenticatorSelector(selector)
        .pinUserVerifier(pinScreen)
        .execute()
}
