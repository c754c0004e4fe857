public import Ceremony
public import UAF
public import UAFClient

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes the client. One for an app, kept for the app's life.
///
/// ```swift
/// let client = try await MobileAuthenticationClientInitializer()
///     .configuration(Configuration(baseUrl: address))
///     .platform(platform)
///     .execute()
/// ```
public struct MobileAuthenticationClientInitializer: SingleOperation {
    private let once = OneShot()
    fileprivate var configuration: Configuration?
    fileprivate var platform: Platform?
    fileprivate var transport: (any Transport)?
    fileprivate var pinHardening = PinHardening()
    fileprivate var pictureDisplays: [PictureDisplay] = []
    fileprivate var traceRecorder: TraceRecorder?

    /// An initializer that still wants a configuration and a platform.
    public init() {}

    /// Makes the client.
    ///
    /// Nothing is sent, but where the app ended while it carried out a deregistration of a service's: then it asks the
    /// server for what is to go, and waits five seconds for all of that at the most. What was not told by then is asked
    /// for at the next start.
    public func perform() async throws(InitializationError) -> MobileAuthenticationClient {
        guard self.once.take() else { throw InitializationError(.operationReused) }
        guard let configuration, let platform, Configuration.authority(configuration.baseUrl) != nil else {
            throw InitializationError(.invalidConfiguration, "configuration and platform are needed")
        }
        guard self.pinHardening.isSupported else {
            throw InitializationError(.invalidConfiguration, "scrypt does not take these numbers")
        }
        do {
            let core = try await ClientCore(
                configuration: configuration, platform: platform, transport: self.transport ?? URLSessionTransport(),
                pinHardening: self.pinHardening, pictureDisplays: self.pictureDisplays,
                traceRecorder: self.traceRecorder)
            await DispatchedDeregistration.resume(core)
            return MobileAuthenticationClient(core: core)
        } catch let error as StorageError {
            throw InitializationError(error)
        } catch is UAFError {
            throw InitializationError(.invalidConfiguration, "facetId must have 1 to 512 characters")
        } catch {
            throw InitializationError(.storageUnavailable, "\(error)")
        }
    }
}

extension MobileAuthenticationClientInitializer: CustomStringConvertible, CustomReflectable {
    /// Without its parts: the platform's storage holds everything.
    public var description: String { "MobileAuthenticationClientInitializer" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension OperationBuilder where Operation == MobileAuthenticationClientInitializer {
    /// Where the server is.
    public func configuration(_ configuration: Configuration) -> Self {
        self.changing { $0.configuration = configuration }
    }
    /// What the device can do.
    public func platform(_ platform: Platform) -> Self { self.changing { $0.platform = platform } }
    /// How to reach the network; by default over Foundation's URL loading.
    public func transport(_ transport: any Transport) -> Self { self.changing { $0.transport = transport } }
    /// What one try of a PIN costs whoever has the device's storage.
    public func pinHardening(_ hardening: PinHardening) -> Self { self.changing { $0.pinHardening = hardening } }
    /// The kinds of PNG pictures that the app's selectors show for confirmation, each with its exact size; by default
    /// none. Servers hear of them at registrations. A picture arrives as
    /// ``AuthenticatorSelectionContext/transactionConfirmationData`` only where its file is of such a kind; a text comes
    /// before a picture.
    public func pictureDisplays(_ displays: [PictureDisplay]) -> Self {
        self.changing { $0.pictureDisplays = displays }
    }
    /// Where the client writes down what it does: token redeemed, person verified, answer sent. Never who, or what is in
    /// a message. By default nowhere.
    public func traceRecorder(_ recorder: TraceRecorder) -> Self { self.changing { $0.traceRecorder = recorder } }
}

/// The client SDK for one app.
public struct MobileAuthenticationClient: Sendable {
    let core: ClientCore

    /// Everything that talks to the server.
    public var operations: Operations { Operations(core: self.core) }
    /// What is on this device.
    public var localData: LocalData { LocalData(core: self.core) }
    /// Whether the keys lie in a store for development: the app says so to the person at enrolment.
    public var isDevelopmentStore: Bool { self.core.platform.storage.isDevelopmentStore }
    /// The configuration that the client was made with.
    public var configuration: Configuration { self.core.configuration }
}

extension MobileAuthenticationClient: CustomReflectable {
    /// The configuration alone: behind the rest are keys, secrets of devices and tokens.
    public var customMirror: Mirror { Mirror(self, children: ["configuration": self.configuration]) }
}

/// What all operations of a client share.
///
/// Every public value of the SDK that holds secrets holds them through this one, which shows no reflection anything.
struct ClientCore: Sendable, CustomReflectable, CustomStringConvertible {
    var description: String { "ClientCore" }
    var customMirror: Mirror { Mirror(self, children: [:]) }

    let configuration: Configuration
    let platform: Platform
    let channel: SecureChannel
    let module: AuthenticatorModule
    let register: AccountRegister
    let facetID: FacetID
    private let facetLists: FacetListCache
    private let traceRecorder: TraceRecorder?

    init(
        configuration: Configuration, platform: Platform, transport: any Transport, pinHardening: PinHardening,
        pictureDisplays: [DisplayPNGCharacteristics], traceRecorder: TraceRecorder?
    ) async throws {
        let facetID = try FacetID(configuration.facetId)
        let register = try AccountRegister(storage: platform.storage)
        let module = try AuthenticatorModule(
            platform: platform,
            configuration: AuthenticatorModule.Configuration(
                callerID: facetID, pinHardening: pinHardening, pictureDisplays: pictureDisplays))
        // Keys of a registration that was cut off before the server's answer belong to nobody.
        try await module.deleteAll(except: Set(register.records.flatMap(\.keys)))
        self.configuration = configuration
        self.platform = platform
        self.channel = SecureChannel(transport: transport)
        self.module = module
        self.register = register
        self.facetID = facetID
        self.facetLists = FacetListCache(clock: platform.clock)
        self.traceRecorder = traceRecorder
    }

    /// What is told of one operation, and what its requests carry.
    func newRecording() -> Recording { Recording(recorder: self.traceRecorder, random: self.platform.random) }

    /// The UAF client, for one operation.
    func messages(_ recording: Recording) -> MessageClient {
        MessageClient(
            module: self.module, facetID: self.facetID, cache: self.facetLists,
            fetchFacets: self.facetListFetch(recording))
    }

    /// How a facet list is fetched.
    func facetListFetch(_ recording: Recording) -> FacetAuthorization.Fetch {
        { [channel, configuration] url in
            let response = try await channel.send(
                TransportRequest(
                    method: "GET", url: url, headers: [("Accept", "application/fido.trusted-apps+json")], body: [],
                    timeout: .seconds(configuration.networkTimeoutInSeconds)), recording)
            return FacetListAnswer(
                status: response.status, contentType: response.header("Content-Type"),
                location: response.header("Location"),
                redirectAuthorized: response.header("FIDO-AppID-Redirect-Authorized"),
                cacheControl: response.header("Cache-Control"), age: response.header("Age"), body: response.body)
        }
    }

    var patience: Patience {
        Patience(
            clock: self.platform.clock, limit: .seconds(self.configuration.userInteractionTimeoutInSeconds))
    }

    /// The device's authenticators as the app sees them.
    func descriptors() async -> [AuthenticatorDescriptor] {
        let records = await self.register.records
        return await self.module.authenticators.map { status in
            let aaid = status.model.aaid
            let accounts = records.filter { $0.keys.contains { $0.aaid == aaid } }.map(\.account)
            return AuthenticatorDescriptor(
                aaid: aaid.text, kind: AuthenticatorDescriptor.Kind(status.model.factor),
                registration: AuthenticatorDescriptor.RegistrationInfo(registeredAccounts: accounts),
                isUserEnrolled: status.isUserEnrolled, isSupportedByHardware: status.isSupportedByHardware)
        }
    }

    /// Lets keys that the server answers to take the place of the account's earlier ones of their models.
    func settle(_ keys: [KeyName], of username: Username, _ appID: String) async throws {
        for key in try await self.register.settle(keys, of: username) {
            try await self.module.deregister(appID: appID, aaid: key.aaid, keyID: key.keyID)
        }
    }

    /// Forgets keys that a server has deleted, and with them the token that they were deleted by.
    func forget(_ keys: [(record: AccountRecord, keys: [KeyName])], endingDeregistrationBy token: String) async throws {
        for (appID, key) in try await self.register.remove(keys, endingDeregistrationBy: token) {
            try await self.module.deregister(appID: appID, aaid: key.aaid, keyID: key.keyID)
        }
    }

    /// Forgets keys of an account, the account's entry first: what is left of the keys goes at the next start.
    func forget(_ keys: [KeyName], of record: AccountRecord) async throws {
        for key in try await self.register.remove(keys, from: record.username) {
            try await self.module.deregister(appID: record.appID, aaid: key.aaid, keyID: key.keyID)
        }
    }
}
