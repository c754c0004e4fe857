public import Ceremony
import JOSE
import UAF
public import UAFClient
import _Primitives

/// The entry point of the SDK for personalised identities on this device.
///
/// An app has one instance, ``shared``, and initialises it once. A server personalises the app (``personalizer``). From
/// then on, a person authenticates with the app (``authenticator``) at every service that asks the server. An
/// additional instance, made by an app's own tests, behaves as a separate phone.
public final class CountersignSDK: Sendable {
    /// The instance of the app.
    public static let shared = CountersignSDK()

    private let life = SDKLife()

    /// Creates an instance in addition to the app's instance.
    public init() {}

    /// The functions that authenticate a person.
    public var authenticator: Authenticator { Authenticator(life: self.life) }
    /// The functions that make, change and remove identities.
    public var personalizer: Personalizer { Personalizer(life: self.life) }
    /// The functions that all processes share: codes, sessions and the security check.
    public var common: CommonProcesses { CommonProcesses(life: self.life) }
    /// The functions for fingers and faces.
    public var biometrics: Biometrics { Biometrics(life: self.life) }

    /// Initialises the SDK: opens the storage, fetches the servers' keys if the keys are older than a day, and
    /// completes interrupted operations. The initialisation succeeds without a network too.
    ///
    /// Identities are stored in the platform's storage, beside the data of a ``MobileAuthenticationClient`` over the
    /// same storage. Neither touches the other's data.
    ///
    /// Throws ``CountersignError``: `alreadyInitialized`, `invalidConfiguration`, `deviceLockNotSet`,
    /// `storageUnavailable`, `storageCorrupt`, `storageNewer`, `keyRemovedBySystem`, `cancelled`, `unexpected`. After
    /// each error except the first, the function can be called again.
    public func initialize(
        _ configuration: IdentityConfiguration, platform: DevicePlatform,
        transport: any Transport = URLSessionTransport(),
        traceRecorder: TraceRecorder? = nil
    ) async throws {
        try await self.life.begin {
            let core = try await CountersignError.running {
                do {
                    return try await IdentityCore(
                        configuration: configuration, platform: platform,
                        transport: try transport.enforcing(configuration.tlsPins), traceRecorder: traceRecorder)
                } catch let error
                    where error is EngineError || error is JOSEError || error is JSONError || error is UAFError
                {
                    // The app has configured the servers, their keys, and its own identity. A later failure is not the
                    // app's mistake.
                    throw CountersignError(.invalidConfiguration, "\(error)")
                }
            }
            if configuration.isDeviceLockRequired {
                let isLocked = try await CountersignError.running { try await platform.hasDeviceLock() }
                guard isLocked else { throw CountersignError(.deviceLockNotSet) }
            }
            await core.getReady()
            return core
        }
    }

    /// Does the same as ``initialize(_:platform:transport:traceRecorder:)``, but blocks. Never call this function on
    /// the main thread or in a task.
    public func initializeSynchronous(
        _ configuration: IdentityConfiguration, platform: DevicePlatform,
        transport: any Transport = URLSessionTransport(),
        traceRecorder: TraceRecorder? = nil
    ) throws {
        try Blocking.wait {
            try await self.initialize(
                configuration, platform: platform, transport: transport, traceRecorder: traceRecorder)
        }
    }
}

extension CountersignSDK: CustomReflectable, CustomStringConvertible {
    /// The type's name only.
    public var description: String { "CountersignSDK" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
