import Countersign
import CountersignLinux
import Foundation

/// The trusted server of identities, with its root key, as the server's operator gives the key to app developers.
let identityServer = IdentityConfiguration.TrustedServer(
    idmIdentifier: "https://id.example.com",
    rootKeys: [
        """
        {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",\
        "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}
        """
    ])

func openIdentities(
    of sdk: CountersignSDK, by servers: [IdentityConfiguration.TrustedServer], folder: String,
    sensor: (any BiometricSensor)? = nil, over transport: any Transport = URLSessionTransport()
) async throws {
    let platform = DevicePlatform(
        storage: try EncryptedFileStorage(directory: folder), fingerprintSensor: sensor,
        clock: try LinuxDeviceClock())
    try await sdk.initialize(IdentityConfiguration(servers: servers), platform: platform, transport: transport)
}

/// The app's display and its questions to the person.
protocol IdentityScreens: Sendable {
    func pin(_ why: String) async throws -> String
    func role(of roles: [RequestedRole]) async throws -> RequestedRole
    // `attribute` is the attribute's name. `error` is the fault of the previous answer, or `nil`.
    func text(of attribute: String, _ error: String?) async throws -> String
    func day(of attribute: String, _ error: String?) async throws -> Date
    func address(of attribute: String, _ error: String?) async throws -> Address
    func gender(of attribute: String, _ error: String?) async throws -> Gender
    func choice(of attribute: String, among aliases: Set<PersonalInformationAlias>) async throws
        -> PersonalInformationAlias
    func agrees(to sentence: String) async -> Bool
    func show(_ sentence: String) async
    // The log is for the app's developer. The errors contain no secrets.
    func log(_ error: any Error) async
    func openInBrowser(_ address: URL) async
    func wait(for duration: Duration) async throws
}

/// The error that ends a process because the person has gone back or cannot continue.
struct GivenUp: Error {}

func handle(_ text: String, with sdk: CountersignSDK, on screens: any IdentityScreens) async throws {
    try? await sdk.common.refreshServerKeys()
    switch try sdk.common.parseProcessInitializationData(text) {
    case .personalization(let data):
        guard await wasBegunHere(data.isFromLink, on: screens) else { return }
        try await personalize(data, with: sdk, on: screens)
    case .authentication(let data):
        guard await wasBegunHere(data.isFromLink, on: screens) else { return }
        try await authenticate(data, with: sdk, on: screens)
    }
}

func wasBegunHere(_ isFromLink: Bool, on screens: any IdentityScreens) async -> Bool {
    guard isFromLink else { return true }
    return await screens.agrees(to: "This came in a link. Did you begin it yourself, a moment ago?")
}

func personalize(
    _ data: PersonalizationInitializationData, with sdk: CountersignSDK, on screens: any IdentityScreens
) async throws {
    let pin = try await screens.pin("The PIN of your activation")
    switch try await sdk.personalizer.decryptPersonalizationInitializationData(data: data, pin: pin) {
    case .newPersonalization(let personalization):
        personalization.alias = "My phone"
        if try await sdk.biometrics.isAvailable, await screens.agrees(to: "Use your finger, too?") {
            personalization.setFactor(try await sdk.biometrics.factorForEnrolment())
        }
        try await sdk.personalizer.finishPersonalization(request: personalization)
        await screens.show("This phone is yours now.")
    case .mergePersonalization(_, let data):
        guard await screens.agrees(to: "Take this invitation into the account that this phone has?") else { return }
        let request = try await sdk.authenticator.startAuthentication(data: data)
        try await answer(request, with: sdk, on: screens)
    case .alreadyPersonalized:
        await screens.show("This phone is personalised already.")
    }
}

@discardableResult
func authenticate(
    _ data: AuthenticationInitializationData, with sdk: CountersignSDK, on screens: any IdentityScreens
) async throws -> AuthorizationCode? {
    let request = try await sdk.authenticator.startAuthentication(data: data)
    return try await answer(request, with: sdk, on: screens)
}

/// Answers a request. Returns the code for the app's back end if the app itself signs in; otherwise `nil`.
@discardableResult
func answer(_ request: AuthenticateRequest, with sdk: CountersignSDK, on screens: any IdentityScreens) async throws
    -> AuthorizationCode?
{
    do {
        let role = try await request.roles.count > 1 ? screens.role(of: request.roles) : request.roles[0]
        request.setSelection(role)
        var isCorrection = false
        while true {
            try await confirm(request.info, isCorrection: isCorrection, on: screens)
            switch try await sdk.authenticator.prepareAuthenticationUserInformation(request: request) {
            case .failure: isCorrection = true
            case .success(let userInformation):
                guard await screens.agrees(to: sentence(of: request, as: role, userInformation)) else {
                    throw GivenUp()
                }
                return try await sign(userInformation, with: sdk, on: screens)
            }
        }
    } catch is GivenUp {
        try await sdk.common.abort(request)
        return nil
    }
}

func sentence(
    of request: AuthenticateRequest, as role: RequestedRole, _ userInformation: AuthenticationUserInformation
) -> String {
    let purpose =
        switch request.purpose {
        case .userLogin, .serviceLogin: "Sign in to"
        case .addFactor: "Add your finger or your face at"
        case .changePin: "Change your PIN at"
        case .newActivation: "Set up another phone at"
        case .delete: "Delete your account, for good, at"
        case .merge: "Take the invitation into your account at"
        }
    var sentence = "\(purpose) \(request.serviceName) (\(request.serviceURL))"
    // Only a sign-in has a role. An action on the identity itself has no role.
    if [.userLogin, .serviceLogin].contains(request.purpose) { sentence += " as \(role.name)" }
    let told = userInformation.confirmedAttributes.map { confirmed in
        "your \(confirmed.attribute.englishName)" + (confirmed.alias.map { " (\($0))" } ?? "")
    }
    if !told.isEmpty { sentence += ", and tell it \(told.joined(separator: ", "))" }
    sentence += "?"
    if let text = userInformation.transactionText { sentence += "\n\n\(text)" }
    return sentence
}

@discardableResult
func sign(
    _ userInformation: AuthenticationUserInformation, with sdk: CountersignSDK, on screens: any IdentityScreens
) async throws -> AuthorizationCode? {
    guard userInformation.missingAuthenticators.isEmpty else {
        let missing = userInformation.missingAuthenticators.map(\.rawValue).sorted().joined(separator: ", ")
        await screens.show("This phone cannot sign that: it lacks \(missing).")
        throw GivenUp()
    }
    for authenticator in userInformation.requestedAuthenticators[0] {
        switch authenticator {
        case .device: try userInformation.sign(factor: DeviceFactor())
        case .pin: try userInformation.sign(factor: PinFactor(try await screens.pin("Your PIN")))
        case .biometric:
            let factor = try await sdk.biometrics.factor(idmIdentifier: userInformation.idmIdentifier)
            try userInformation.sign(factor: factor)
        case .otp, .yubikey: throw GivenUp()
        }
    }
    return try await finish(userInformation, with: sdk, on: screens)
}

@discardableResult
func finish(
    _ userInformation: AuthenticationUserInformation, with sdk: CountersignSDK, on screens: any IdentityScreens
) async throws -> AuthorizationCode? {
    switch try await sdk.authenticator.finishAuthentication(userInfo: userInformation) {
    case .userLogin(let result):
        await screens.show("You are signed in to \(result.relyingPartyName).")
        // A sign-in from a link on this phone is complete only when the browser is back at this address.
        if let address = result.returnAddress { await screens.openInBrowser(address) }
    case .serviceLogin(let result): return try await sdk.authenticator.fetchAuthorizationCode(result)
    case .apiAccessAddFactor(let access):
        access.setFactor(try await sdk.biometrics.factorForEnrolment())
        try await sdk.personalizer.finishAddAuthenticationFactor(request: access)
        await screens.show("Your finger signs from now on.")
    case .apiAccessChangePin(let access):
        try await choosePin(access.pinSpec, "The new PIN", on: screens)
        try await sdk.personalizer.finishChangePin(request: access)
        await screens.show("Your PIN is changed.")
    case .apiAccessRequestNewActivationData(let access):
        try await choosePin(access.pinSpec, "A PIN for the activation", on: screens)
        await screens.show(try await sdk.personalizer.finishRequestNewActivationData(access))
    case .apiAccessDelete(let access):
        guard await screens.agrees(to: "Delete the account for good?") else { throw GivenUp() }
        try await sdk.personalizer.finishDeletion(request: access)
        await screens.show("The account is deleted.")
    case .apiAccessMergeComplete:
        await screens.show("Done. The code of the invitation is void: throw it away.")
    case .lockout(let lockout, let userInformation):
        guard !lockout.isPermanent else {
            // The lockout is permanent. Removing the identity makes room for a new activation.
            try await sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: userInformation.idmIdentifier)
            await screens.show("This phone is locked. Get a new activation.")
            return nil
        }
        await screens.show("Something was wrong. Try again in \(lockout.duration.components.seconds) seconds.")
        try await screens.wait(for: lockout.duration)
        return try await sign(userInformation, with: sdk, on: screens)
    }
    return nil
}

func choosePin(_ specification: PinSpecification, _ why: String, on screens: any IdentityScreens) async throws {
    while true {
        let result = specification.setPin(try await screens.pin(why))
        guard result != .valid else { return }
        await screens.show("That PIN is not taken. \(words(result, specification))")
    }
}

func words(_ code: PinSpecification.ResultCode, _ specification: PinSpecification) -> String {
    switch code {
    case .valid: ""
    case .empty: "Type one."
    case .tooShort: "At least \(specification.minLength) digits."
    case .tooLong: "At most \(specification.maxLength) digits."
    case .invalidCharacters: "Digits alone."
    case .tooSimple: "A date, digits in a row and what repeats are tried first by whoever finds the phone."
    case .unchanged: "It is the one that you have."
    }
}

func changePin(at idmIdentifier: String, with sdk: CountersignSDK, on screens: any IdentityScreens) async throws {
    let data = try await sdk.personalizer.startChangePin(idmIdentifier: idmIdentifier)
    try await authenticate(data, with: sdk, on: screens)
}

func addFinger(at idmIdentifier: String, with sdk: CountersignSDK, on screens: any IdentityScreens) async throws {
    guard try await sdk.biometrics.isAvailable else {
        await screens.show("Enrol a finger or a face in this phone's settings first.")
        return
    }
    let data = try await sdk.personalizer.startAddAuthenticationFactor(idmIdentifier)
    try await authenticate(data, with: sdk, on: screens)
}

func setUpAnotherPhone(at idmIdentifier: String, with sdk: CountersignSDK, on screens: any IdentityScreens)
    async throws
{
    let data = try await sdk.personalizer.startRequestNewActivationData(idmIdentifier: idmIdentifier)
    try await authenticate(data, with: sdk, on: screens)
}

func deleteAccount(at idmIdentifier: String, with sdk: CountersignSDK, on screens: any IdentityScreens) async throws {
    let data = try await sdk.personalizer.startDeletion(idmIdentifier: idmIdentifier)
    try await authenticate(data, with: sdk, on: screens)
}

/// Does a button's action, and tells the person about an error in words.
func press(on screens: any IdentityScreens, _ work: () async throws -> Void) async {
    do {
        try await work()
    } catch is GivenUp, is CancellationError {
        // A person who has gone back needs no message.
    } catch let error as CountersignLockoutError {
        let rest = error.information
        let seconds = Int(rest.lockedUntil.timeIntervalSince(rest.serverTime).rounded(.up))
        await screens.show(
            rest.isPermanent
                ? "That was wrong too often. Get a new activation."
                : "That was wrong, or something was before. Begin again in \(max(seconds, 1)) seconds.")
    } catch let error as CountersignSecurityInsufficientError {
        await screens.show("This phone is not sound enough: \(error.reasons.joined(separator: ", ")).")
    } catch let error as CountersignError {
        await screens.log(error)
        await screens.show([error.localizedDescription, remedy(for: error)].compactMap(\.self).joined(separator: " "))
    } catch let refusal as OwnBackEnd.Refusal {
        await screens.show(refusal.error)
    } catch let error as TransportError {
        await screens.log(error)
        await screens.show("The app's own server does not answer. Try again in a while.")
    } catch let error as StorageError {
        await screens.log(error)
        await screens.show(error.code == .inUse ? "This app is open already." : "What this app keeps cannot be read.")
    } catch {
        await screens.log(error)
        await screens.show("Something went wrong. Begin again.")
    }
}

/// Returns the person's next step after an error; `nil` if the error's own sentence says enough.
func remedy(for error: CountersignError) -> String? {
    switch error.errorCode {
    case .connectionError, .timeout, .tooManyRequests: "Try again in a while."
    case .activationUnknown, .activationDisabled, .keyRemovedBySystem: "Leave, and get a new activation."
    case .activationDataExpired, .activationDataConsumed, .notPersonalized: "Get a new activation."
    case .serverSignatureInvalid, .tlsError:
        "A code may be damaged, or somebody in between: try another code, and then report it."
    case .malformedData, .sessionExpired, .sessionConsumed, .sessionAborted, .sessionSuperseded, .grantExpired,
        .correctionLimitExceeded, .answersOutdated, .biometricCancelled, .unexpected:
        "Begin again."
    default: nil
    }
}

/// Gets more time for a screen on which the person is still reading. Returns `false` if no more time is available.
func prolong(_ holder: any IdentitySessionHolder, with sdk: CountersignSDK) async throws -> Bool {
    let session = holder.identitySession
    guard session.nextRequestUntil < session.lastRequestBefore else { return false }
    try await sdk.common.prolongSession(holder: holder)
    return true
}

func leave(_ idmIdentifier: String, with sdk: CountersignSDK, on screens: any IdentityScreens) async throws {
    guard await screens.agrees(to: "Take your identity off this phone? Your account stays.") else { return }
    try await sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: idmIdentifier)
    await screens.show("This phone is nobody's now.")
}

/// Returns the entries for a list of the person's identities, one entry for each server.
func identities(of sdk: CountersignSDK) throws -> [(server: String, name: String, signsBy: [String])] {
    try sdk.personalizer.personalizedIdentities.map { identity in
        (identity.idmIdentifier, identity.alias, identity.enrolledFactors.map(\.rawValue).sorted())
    }
}

/// Watches the device while the app is in the foreground. The app calls this function anew at each change between
/// foreground and background, once the SDK is initialised. The previous task is cancelled.
func watchDevice(isActive: Bool, with sdk: CountersignSDK, on screens: any IdentityScreens) async {
    guard isActive else { return }
    do {
        try await sdk.common.watchSecurity { result in
            if result.isRooted || result.isHooked { await screens.show("Somebody has changed this phone.") }
        }
    } catch {
        await screens.show("Nobody can tell whether this phone is sound.")
    }
}
