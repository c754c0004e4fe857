package import Accounts
package import CeremonyEngine
package import Records
package import Settings
import Synchronization
package import _Primitives

/// The parts of a server that its ways to sign in are made of. The provider opens over the ways, so no part is the
/// provider's.
package struct SignInFoundation: Sendable {
    let store: any UpstreamStore
    let passwords: PasswordAccounts
    let ceremonies: LateCeremonies
    let limits: Limits
    let time: TimeSource
    let random: RandomSource

    /// Names the parts.
    package init(
        store: any UpstreamStore, passwords: PasswordAccounts, ceremonies: LateCeremonies, limits: Limits,
        time: TimeSource, random: RandomSource
    ) {
        self.store = store
        self.passwords = passwords
        self.ceremonies = ceremonies
        self.limits = limits
        self.time = time
        self.random = random
    }
}

/// The ceremonies, which open after the provider: the provider asks the ceremonies for outcomes, and the ceremonies ask
/// the provider for subjects.
package final class LateCeremonies: Sendable {
    private let parts = Mutex<(signIns: SignIns, backchannel: BackchannelSignIns)?>(nil)

    /// Creates ceremonies that are not open yet.
    package init() {}

    /// The ceremonies of sign-ins; `nil` before the ceremonies are open.
    var signIns: SignIns? { self.parts.withLock { $0?.signIns } }
    /// The questions without a browser; `nil` before the ceremonies are open.
    package var backchannel: BackchannelSignIns? { self.parts.withLock { $0?.backchannel } }

    /// Takes the ceremonies, which are open from now on.
    package func open(_ engine: CeremonyEngine) {
        self.parts.withLock { $0 = (engine.signIns, engine.backchannel) }
    }
}
