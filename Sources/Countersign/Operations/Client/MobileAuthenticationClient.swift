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
///     .configuration(ClientConfiguration(baseURL: address))
///     .platform(platform)
///     .execute()
/// ```
public struct MobileAuthenticationClientInitializer: SingleOperation {
    private let once = OneShot()
    fileprivate var configuration: ClientConfiguration?
    fileprivate var platform: DevicePlatform?
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
        guard let configuration, let platform, configuration.baseURL.authority != nil else {
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
            throw InitializationError(.invalidConfiguration, "facetID must have 1 to 512 characters")
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
    public func configuration(_ configuration: ClientConfiguration) -> Self {
        self.changing { $0.configuration = configuration }
    }
    /// What the device can do.
    public func platform(_ platform: DevicePlatform) -> Self { self.changing { $0.platform = platform } }
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
    /// This device, as it speaks for itself to an account's server; `nil` where there is no such account. Throws
    /// `DeviceKeyError` and ``StorageError``.
    package func deviceIdentity(of account: RegisteredAccount) async throws -> DeviceIdentity? {
        try await self.core.identity(
            of: AccountKey(server: account.server.baseURL, username: account.username))
    }
    /// The configuration that the client was made with.
    public var configuration: ClientConfiguration { self.core.configuration }
}

extension MobileAuthenticationClient: CustomReflectable {
    /// The configuration alone: behind the rest are keys, secrets of devices and tokens.
    public var customMirror: Mirror { Mirror(self, children: ["configuration": self.configuration]) }
}
