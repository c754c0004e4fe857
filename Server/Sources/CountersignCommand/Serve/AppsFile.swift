import CeremonyEngine
import Foundation
import Settings
import SwiftASN1
import UAF
import UAFRelyingParty
import X509
import _Primitives

/// The file of the operator's apps: `{"apps": [{"team", "bundle", "package", "certificates"}, …]}`.
///
/// `team` and `bundle` go together, and so do `package` and `certificates`. A certificate is DER in base64.
struct AppsFile {
    let path: String

    /// Reads the apps. Throws ``CommandFailure``, which names the file, the place of the entry, and the member.
    func apps() throws -> [AppEntry] {
        // One byte more than allowed is enough to see that the file is too large.
        guard let file = FileHandle(forReadingAtPath: self.path),
            let bytes = try? file.read(upToCount: Limits.Fixed.appsFileBytes + 1) ?? Data()
        else {
            throw CommandFailure(.notFound, "the file of apps \(self.path) cannot be read", remedy: Self.remedy)
        }
        guard bytes.count <= Limits.Fixed.appsFileBytes, case .object(let object)? = try? JSON(parsing: Array(bytes)),
            object.members.count == 1, case .array(let entries)? = object["apps"],
            (1...Limits.Fixed.appEntries).contains(entries.count)
        else {
            throw self.failure(
                #"the file holds no object {"apps": […]} with 1 to \#(Limits.Fixed.appEntries) apps"#)
        }
        var apps: [AppEntry] = []
        for (index, entry) in entries.enumerated() {
            guard case .object(let members) = entry else { throw self.failure("app \(index + 1) is no object") }
            do { apps.append(try self.app(members)) } catch let error as JSONError {
                throw self.failure("app \(index + 1): \(error.reason)")
            }
        }
        try self.checkNames(apps)
        return apps
    }

    private func app(_ members: JSONObject) throws -> AppEntry {
        let names = ["team", "bundle", "package", "certificates"]
        for (name, _) in members.members where !names.containsBytes(of: name) {
            throw JSONError(.wrongType, "there is no member \(name); there are \(names.joined(separator: ", "))")
        }
        let (team, bundle) = (try members.string("team"), try members.string("bundle"))
        let (package, certificates) = (try members.string("package"), try members.strings("certificates"))
        guard (team == nil) == (bundle == nil), (package == nil) == (certificates == nil) else {
            throw JSONError(.missing, "team and bundle go together, and package and certificates do")
        }
        let ders = try (certificates ?? []).map(Self.certificate)
        var apple: AttestedApp?
        if let team, let bundle {
            do { apple = try AttestedApp(teamID: team, bundleID: bundle, environment: .production) } catch {
                throw JSONError(.wrongType, "team and bundle are not of their form: \(error.reason)")
            }
        }
        do {
            return try AppEntry(
                apple: apple, android: try package.map { try AppEntry.AndroidApp(package: $0, certificates: ders) })
        } catch let error as UAFError { throw JSONError(.wrongType, "the entry is not of its form: \(error.reason)") }
    }

    private static func certificate(_ text: String) throws -> [UInt8] {
        guard let data = Data(base64Encoded: text), (try? Certificate(derEncoded: Array(data))) != nil else {
            throw JSONError(.wrongType, "a certificate is not DER in base64")
        }
        return Array(data)
    }

    /// Refuses a bundle or a package with two entries: the entries could name different teams or certificates.
    private func checkNames(_ apps: [AppEntry]) throws {
        for names in [apps.compactMap { $0.apple?.bundleID }, apps.compactMap { $0.android?.package }] {
            guard Set(names.map { ExactText($0) }).count == names.count else {
                throw self.failure("two entries name one app")
            }
        }
    }

    private func failure(_ reason: String) -> CommandFailure {
        CommandFailure(.failed, "the file of apps \(self.path) cannot be used: \(reason)", remedy: Self.remedy)
    }

    private static let remedy = "--apps names it; the guide for operators has an example (Apps)."
}
