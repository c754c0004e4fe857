import Accounts
import CeremonyEngine
import Records
import Settings
import Synchronization
import _Primitives

/// The parts of a server that its ways to sign in are made of. The provider opens over the ways, so no part is the
/// provider's.
struct SignInFoundation: Sendable {
    let store: any UpstreamStore
    let passwords: PasswordAccounts
    let ceremonies: LateCeremonies
    let limits: Limits
    let time: TimeSource
    let random: RandomSource
}

/// The ceremonies, which open after the provider: the provider asks the ceremonies for outcomes, and the ceremonies ask
/// the provider for subjects.
final class LateCeremonies: Sendable {
    private let parts = Mutex<(signIns: SignIns, backchannel: BackchannelSignIns)?>(nil)

    /// The ceremonies of sign-ins; `nil` before the ceremonies are open.
    var signIns: SignIns? { self.parts.withLock { $0?.signIns } }
    /// The questions without a browser; `nil` before the ceremonies are open.
    var backchannel: BackchannelSignIns? { self.parts.withLock { $0?.backchannel } }

    /// Takes the ceremonies, which are open from now on.
    func open(_ engine: CeremonyEngine) {
        self.parts.withLock { $0 = (engine.signIns, engine.backchannel) }
    }
}
