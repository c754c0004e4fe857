import CSystemClock
import Foundation
import NIOSSL
import Settings
import _Primitives

/// The checks of the machine: files, disk, certificate and clock.
extension DoctorCheck {
    static let permissions = DoctorCheck(
        name: "permissions",
        looksAt: "who can read the data folder, the key files and the files in them, and whose they are",
        remedy:
            "chmod 700 for the folder, chmod 600 for files, and chown to the user that the server runs as; run this command as that user, or as root."
    ) { scene in
        let configuration = scene.configuration
        var problems: [String] = []
        func look(_ path: String, ownedBy owner: uid_t? = nil, forbidden: mode_t = 0o077) {
            var status = stat()
            guard stat(path, &status) == 0 else { return }
            if status.st_mode & forbidden != 0 {
                problems.append(
                    "Others than its owner can get at \(path) (mode \(String(status.st_mode & 0o7777, radix: 8))).")
            }
            if let owner, status.st_uid != owner {
                problems.append("\(path) belongs to user \(status.st_uid), and the data folder to user \(owner).")
            }
        }
        guard let owner = Self.owner(of: configuration.dataFolder) else {
            return .unknown("There is no data folder \(configuration.dataFolder).")
        }
        look(configuration.dataFolder)
        if scene.user != 0, owner != scene.user {
            problems.append(
                "\(configuration.dataFolder) belongs to user \(owner), and this command runs as user \(scene.user)."
            )
        }
        let names = Result { try FileManager.default.contentsOfDirectory(atPath: configuration.dataFolder) }
        // A folder that cannot be opened has its problem already if the folder belongs to somebody else.
        for name in try problems.isEmpty ? names.get().sorted() : ((try? names.get()) ?? []).sorted() {
            // The folder keeps others out. Its files must belong to the server's own user.
            look("\(configuration.dataFolder)/\(name)", ownedBy: owner, forbidden: 0o022)
        }
        let push = configuration.push
        let keys = [
            configuration.keyFile, configuration.tlsKey, configuration.mtlsKey, push.apnsKey, push.fcmAccount,
            push.webPushKey,
        ].compactMap(\.self)
        let credentials = KeyFile(path: configuration.keyFile).credentialsFolder
        for key in keys {
            // The service manager lets its user in by an access list, which shows as the group's reading bit.
            let isCredential = credentials.map { key.hasBytes(atStart: $0 + "/") } ?? false
            look(key, forbidden: isCredential ? 0o037 : 0o077)
        }
        return problems.isEmpty
            ? .good("\(configuration.dataFolder) and the key files are kept from others.") : .bad(problems)
    }

    /// Returns the user that a file or a folder belongs to; `nil` if there is none at the path.
    private static func owner(of path: String) -> uid_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_uid : nil
    }

    static let disk = DoctorCheck(
        name: "disk",
        looksAt:
            "how much room is left where the data folder is: for what is written, and for a backup of the database",
        remedy: "Make room on that disk, or move the data folder to a larger one while the server is stopped."
    ) { scene in
        guard let space = scene.space(scene.configuration.dataFolder) else {
            return .unknown("The system does not say how much room is left.")
        }
        let database = scene.folder.databaseSize
        let needed = max(Limits.Doctor.leastFreeBytes, database)
        let words =
            "\(space.free >> 20) MiB of \(space.all >> 20) MiB are free, and the database has \(database >> 20) MiB."
        return space.free < needed ? .bad([words]) : .good(words)
    }

    static let certificate = DoctorCheck(
        name: "certificate",
        looksAt: "whether each certificate fits its key, and how long it is valid",
        remedy: "Renew it, put both files in their places, and have them read: systemctl reload countersign (SIGHUP)."
    ) { scene in
        let configuration = scene.configuration
        let pairs = [
            (configuration.tlsCertificate, configuration.tlsKey),
            (configuration.mtlsCertificate, configuration.mtlsKey),
        ]
        var (problems, seen) = ([String](), [String]())
        for case (let certificate?, let key?) in pairs where !seen.containsBytes(of: certificate) {
            seen.append(certificate)
            do {
                let validity = try TLSIdentity(certificate: certificate, key: key).validity
                let (now, end) = (scene.time.now(), validity.upperBound)
                if now < validity.lowerBound {
                    problems.append("The certificate in \(certificate) is valid from \(validity.lowerBound) on alone.")
                } else if now >= end {
                    problems.append("The certificate in \(certificate) was valid until \(end).")
                } else if end - now < Limits.Doctor.leastCertificateTime {
                    problems.append("The certificate in \(certificate) is valid until \(end) alone.")
                }
            } catch let failure as CommandFailure { problems.append("\(failure.problem).") }
        }
        guard problems.isEmpty else { return .bad(problems) }
        return .good(seen.isEmpty ? "The server ends no TLS itself." : "\(seen.joined(separator: ", "))")
    }

    static let clock = DoctorCheck(
        name: "clock",
        looksAt:
            "whether something keeps this machine's clock right, and how far it is from other clocks: services and phones hold the times in tokens and proofs against their own",
        remedy: "Run systemd-timesyncd, chrony or another NTP client, and set the clock once (chronyc makestep)."
    ) { scene in
        let problems = await scene.clockDifferences()
        guard problems.isEmpty else { return .bad(problems) }
        return switch scene.isClockSynchronised() {
        case true?: .good("The clock is synchronised: it is \(scene.time.now()).")
        case false?: .bad(["Nothing keeps the clock right: it is \(scene.time.now()) here."])
        case nil: .unknown("The system does not say whether something keeps the clock right.")
        }
    }
}

extension DoctorScene {
    /// Compares this machine's clock with the clocks of other machines, by the field `Date` of their answers. A machine
    /// that does not answer, or tells no time, counts for nothing.
    fileprivate func clockDifferences() async -> [String] {
        var problems: [String] = []
        for address in self.clocks + ((try? self.configuration.push.addresses()) ?? []) {
            let before = self.time.now()
            guard let date = try? await self.network().answer(of: address).date else { continue }
            let after = self.time.now()
            // The answer was written between both moments.
            let (ahead, behind) = (before - date, date - after)
            guard max(ahead, behind) > Limits.Doctor.largestClockDifference else { continue }
            let (seconds, word) =
                ahead > behind
                ? (ahead.components.seconds, "ahead of") : (behind.components.seconds, "behind")
            problems.append(
                "This machine's clock is \(seconds) seconds \(word) the clock of \(DoctorNetwork.origin(of: address)).")
        }
        return problems
    }
}

/// This machine's clock.
enum SystemClock {
    /// `true` if a service keeps the clock right; `nil` if the kernel does not tell.
    static var isSynchronised: Bool? {
        switch countersign_clock_is_synchronised() {
        case 1: true
        case 0: false
        default: nil
        }
    }
}
