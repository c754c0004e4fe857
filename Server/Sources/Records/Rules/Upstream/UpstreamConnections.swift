import _Primitives

/// The effect of a request to connect a waiting identity of another provider with an account.
package enum UpstreamConnection: Sendable, Equatable {
    /// The identity gets a link to the account.
    case connect(UpstreamIdentity)
    /// The identity is connected with this account already, and nothing changes.
    case standing
    /// The identity gets no link.
    case refused(LinkRefusal)

    /// Judges a request to connect an identity.
    ///
    /// A link that exists is judged before the number of links: an identity of another account is `taken` even if the
    /// account is full.
    ///
    /// - Parameters:
    ///   - identity: The identity that the person wants to connect; `nil` if none waits any more.
    ///   - account: The account of the request.
    ///   - isLocked: `true` if the account is locked; `nil` if the account is gone.
    ///   - holder: The account that the identity is connected with already.
    ///   - links: The number of the account's links.
    ///   - limit: The largest number of links of an account.
    package init(
        of identity: UpstreamIdentity?, to account: String, isLocked: Bool?, holder: String?, links: Int, limit: Int
    ) {
        guard let identity, isLocked == false else {
            self = .refused(.over)
            return
        }
        if let holder {
            self = holder.hasSameBytes(as: account) ? .standing : .refused(.taken)
        } else {
            self = links < limit ? .connect(identity) : .refused(.full)
        }
    }
}

/// The person who arrives from another provider: the account that the person has here, or gets.
package enum ArrivedPerson: Sendable, Equatable {
    /// The identity is connected with this account.
    case known(account: String)
    /// The identity is new here, and gets an account.
    case newcomer(UpstreamNewcomer)
    /// The identity is new here, and waits to be connected with an account.
    case stranger

    /// Judges an arrival. An identity with a link never gets a second account.
    ///
    /// - Parameters:
    ///   - account: The account that the identity is connected with; `nil` without a link.
    ///   - newcomer: The account to add for a new identity; `nil` if the provider's people get no account.
    package init(linkedTo account: String?, newcomer: UpstreamNewcomer?) {
        if let account {
            self = .known(account: account)
        } else if let newcomer {
            self = .newcomer(newcomer)
        } else {
            self = .stranger
        }
    }
}

extension UpstreamProvider {
    /// Checks that another provider may be added. Throws ``StoreError/Code/conflict`` if `count` providers exist and
    /// `limit` is the largest number.
    package static func checkRoom(beside count: Int, limit: Int) throws {
        guard count < limit else { throw StoreError(.conflict, "there are \(count) providers") }
    }
}
