import Accounts
import CeremonyEngine
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Store

/// A person's own device, by the token of an authentication in the app.
struct DeviceAuthorization: Sendable {
    let provider: OpenIDProvider
    let directory: AccountDirectory

    /// Who has the token that a request shows, whether or not the device is still there. Throws a 401 ``Problem``.
    func holder(of request: Request) throws -> AuthenticatedDevice {
        // Of several tokens the parts of a deployment could each take another.
        let values = request.headers[values: .authorization]
        do {
            let holder = try self.provider.holder(ofDeviceToken: values.count == 1 ? values[0] : nil)
            return AuthenticatedDevice(accountID: holder.account, deviceID: holder.device)
        } catch let error as OAuthError {
            throw Self.unauthorized(error)
        }
    }

    /// The device of the token, where it is still there: a device that was taken away is refused at once. Throws a 401
    /// ``Problem``. Cost: one query beside the token's verification.
    func device(of request: Request) async throws -> (device: AuthenticatedDevice, account: AccountRecord) {
        let device = try self.holder(of: request)
        guard let account = try await self.directory.account(id: device.accountID, ofDevice: device.deviceID) else {
            throw Self.unauthorized(
                OAuthError(.invalidToken, "The access token is not valid.", detail: "the device is gone"))
        }
        return (device, account)
    }

    /// The account of the token, where it may authenticate. Throws a ``Problem``: 401, or 403 where it is locked.
    func account(of request: Request) async throws -> AccountRecord {
        let account = try await self.device(of: request).account
        guard !account.isLocked else { throw Problem(.forbidden, "locked", "The account is locked.") }
        return account
    }

    private static func unauthorized(_ error: OAuthError) -> Problem {
        Problem(
            .unauthorized, "unauthorized", "Authenticate first, and send the token that comes of it.",
            headers: [.wwwAuthenticate: error.challenge(scheme: "Bearer", realm: "countersign")])
    }
}
